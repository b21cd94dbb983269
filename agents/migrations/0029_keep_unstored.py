from django.db import migrations, models

APIS = [(0, "none"), (1, "agents"), (2, "responses"), (3, "unstored")]


class Migration(migrations.Migration):
    dependencies = [("agents", "0028_index_of_doubt")]

    operations = [
        migrations.AddField("apikey", "keeps_unstored", models.BooleanField(default=None, null=True)),
        migrations.SeparateDatabaseAndState(  # a database does not know the choices
            state_operations=[
                migrations.AlterField("response", "api", models.SmallIntegerField(choices=APIS)),
                migrations.AlterField("session", "api", models.SmallIntegerField(choices=APIS, default=1)),
                migrations.AlterField("turn", "api", models.SmallIntegerField(choices=APIS, default=1)),
            ]
        ),
    ]
