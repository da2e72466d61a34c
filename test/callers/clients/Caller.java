import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.InputStream;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import okhttp3.HttpUrl;
import okhttp3.MediaType;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import okio.BufferedSink;

/** Makes one call with java.net.http or OkHttp. */
public class Caller {
  public static void main(String[] args) throws Exception {
    JsonNode call = new ObjectMapper().readTree(System.getenv("CALL"));
    try {
      if (System.getenv("LIBRARY").equals("okhttp")) {
        okHttp(call);
      } else {
        httpClient(call);
      }
    } catch (IllegalArgumentException e) { // the library refuses to send that
      System.err.println(e.getMessage());
      System.exit(3);
    }
  }

  static void httpClient(JsonNode call) throws Exception {
    String url = System.getenv("BASE") + call.get("path").asText();
    if (call.has("id")) {
      // URLEncoder is for forms: it writes + for a blank.
      url += URLEncoder.encode(call.get("id").asText(), StandardCharsets.UTF_8).replace("+", "%20") + call.get("rest").asText();
    }
    BodyPublisher body = BodyPublishers.noBody();
    if (call.has("chunks")) {
      body = BodyPublishers.ofInputStream(InputStream::nullInputStream);
    } else if (call.has("body")) {
      body = BodyPublishers.ofString(call.get("body").asText());
    }
    HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url)).version(HttpClient.Version.HTTP_1_1).method(call.get("method").asText(), body);
    call.get("headers").fields().forEachRemaining(h -> request.header(h.getKey(), h.getValue().asText()));
    if (call.has("type")) {
      request.header("Content-Type", call.get("type").asText());
    }
    HttpClient.newHttpClient().send(request.build(), BodyHandlers.discarding());
  }

  static void okHttp(JsonNode call) throws Exception {
    HttpUrl.Builder url = HttpUrl.get(System.getenv("BASE") + call.get("path").asText()).newBuilder();
    if (call.has("id")) {
      url.setPathSegment(url.build().pathSize() - 1, call.get("id").asText());
      if (!call.get("rest").asText().isEmpty()) {
        url.addPathSegments(call.get("rest").asText().substring(1));
      }
    }
    MediaType type = call.has("type") ? MediaType.get(call.get("type").asText()) : null;
    RequestBody body = null;
    if (call.has("chunks")) {
      body = new RequestBody() {
        @Override public MediaType contentType() { return null; }
        @Override public void writeTo(BufferedSink sink) { }
      };
    } else if (call.has("body")) {
      body = RequestBody.create(call.get("body").asText().getBytes(StandardCharsets.UTF_8), type);
    } else if (call.get("method").asText().equals("POST")) {
      body = RequestBody.create(new byte[0], null);
    }
    Request.Builder request = new Request.Builder().url(url.build()).method(call.get("method").asText(), body);
    call.get("headers").fields().forEachRemaining(h -> request.header(h.getKey(), h.getValue().asText()));
    OkHttpClient client = new OkHttpClient();
    client.newCall(request.build()).execute().close();
    client.dispatcher().executorService().shutdown();
  }
}
