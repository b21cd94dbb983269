"""Messages between the serving processes of one database.

A message is a *doorbell*: it says that something happened, or asks for something, and may be lost. Whoever waits
for one therefore also looks into the database now and then, or asks again. It knows nothing of what is said.
"""
