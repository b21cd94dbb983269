"""The parts of `agents.loop.inference.openai_compatible`, one job each.

``request`` builds the body, ``transport`` sends it over ``connections``, ``response_body`` reads the
bytes of the answer within the limits of ``timeouts``, ``sse`` splits them into events, ``stream`` and
``call_parts`` turn events into chunks, ``logprobs`` reads their probabilities, ``guided_call`` makes a text a
call, ``payload_stream`` passes events through unchanged, and
``endpoint_errors`` builds the errors.
"""
