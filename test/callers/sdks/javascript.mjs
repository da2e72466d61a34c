// Sends one event with the CloudEvents SDK of JavaScript.
import { createRequire } from "node:module";

const require = createRequire(process.env.CALLERS_TOOLS + "/");
const { CloudEvent, HTTP } = require("cloudevents");
const call = JSON.parse(process.env.CALL);
const event = new CloudEvent({
  id: call.id, source: "/shop", type: "refund.requested", time: "2026-11-30T18:00:00.123Z",
  // An event with bytes has no media type: the SDK then cannot know that they are JSON.
  ...(call.bytes ? {} : { datacontenttype: call.type ?? "application/json" }),
  data: call.bytes ? new Uint8Array(Buffer.from(call.data)) : JSON.parse(call.data),
});
const message = call.mode === "structured" ? HTTP.structured(event) : HTTP.binary(event);
let request;
try {
  request = new Request(process.env.BASE + "/v1/events", {
    method: "POST", headers: { ...message.headers, Authorization: "Bearer " + process.env.KEY }, body: message.body,
  });
} catch (e) { // the SDK does not encode attributes
  console.error(e.message);
  process.exit(3);
}
const answer = await fetch(request);
console.log(answer.status, await answer.text());
process.exitCode = answer.ok ? 0 : 1;
