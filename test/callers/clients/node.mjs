// Makes one call with a library of Node.
import { createRequire } from "node:module";
import { Readable } from "node:stream";

const require = createRequire(process.env.CALLERS_TOOLS + "/");
const call = JSON.parse(process.env.CALL);
let url = process.env.BASE + call.path;
if ("id" in call) url += encodeURIComponent(call.id) + call.rest;
const headers = { ...call.headers };
if (call.type) headers["Content-Type"] = call.type;
// A text would get a Content-Type of its own.
const body = "body" in call ? Buffer.from(call.body) : undefined;

switch (process.env.LIBRARY) {
  case "fetch": {
    const stream = call.chunks ? { body: Readable.toWeb(Readable.from([])), duplex: "half" } : { body };
    await (await fetch(url, { method: call.method, headers, ...stream })).text();
    break;
  }
  case "undici": {
    const { request } = require("undici");
    await (await request(url, { method: call.method, headers, body: call.chunks ? Readable.from([]) : body })).body.text();
    break;
  }
  case "axios": {
    const axios = require("axios");
    await axios({ url, method: call.method, headers, data: call.chunks ? Readable.from([]) : body });
    break;
  }
}
