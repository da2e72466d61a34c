"""Makes one call with a Python library."""
import asyncio, json, os, urllib.parse, urllib.request

call, library = json.loads(os.environ["CALL"]), os.environ["LIBRARY"]
url = os.environ["BASE"] + call["path"]
if "id" in call:
    url += urllib.parse.quote(call["id"], safe="") + call["rest"]
method, headers = call["method"], dict(call["headers"])
if "type" in call:
    headers["Content-Type"] = call["type"]
body = call["body"].encode() if "body" in call else None

if library == "requests":
    import requests
    requests.request(method, url, headers=headers, data=iter([]) if call.get("chunks") else body)
elif library == "httpx":
    import httpx
    httpx.request(method, url, headers=headers, content=iter([]) if call.get("chunks") else body)
elif library == "aiohttp":
    import aiohttp

    async def nothing():
        for chunk in ():
            yield chunk

    async def send():
        async with aiohttp.ClientSession() as session:
            # aiohttp would decode the encoded path again.
            import yarl
            async with session.request(method, yarl.URL(url, encoded=True), headers=headers, data=nothing() if call.get("chunks") else body) as answer:
                await answer.read()
    asyncio.run(send())
elif library == "urllib":
    request = urllib.request.Request(url, data=iter([]) if call.get("chunks") else body, headers=headers, method=method)
    urllib.request.urlopen(request).read()
