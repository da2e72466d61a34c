"""Sends one event with the CloudEvents SDK of Python."""
import datetime, json, os, sys
import requests
from cloudevents.core.bindings.http import to_binary_event, to_structured_event
from cloudevents.core.v1.event import CloudEvent

call = json.loads(os.environ["CALL"])
attributes = {"id": call["id"], "source": "/shop", "type": "refund.requested",
              "time": datetime.datetime(2026, 11, 30, 18, 0, 0, 123456, datetime.timezone.utc)}
# An event with bytes has no media type: the SDK then cannot know that they are JSON.
if not call.get("bytes"):
    attributes["datacontenttype"] = call.get("type", "application/json")
data = call["data"].encode() if call.get("bytes") else json.loads(call["data"])
event = CloudEvent(attributes, data)
message = to_structured_event(event) if call["mode"] == "structured" else to_binary_event(event)
answer = requests.post(os.environ["BASE"] + "/v1/events", data=message.body,
                       headers={**message.headers, "Authorization": "Bearer " + os.environ["KEY"]})
print(answer.status_code, answer.text)
sys.exit(not answer.ok)
