import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.cloudevents.CloudEvent;
import io.cloudevents.core.builder.CloudEventBuilder;
import io.cloudevents.core.data.BytesCloudEventData;
import io.cloudevents.core.message.MessageWriter;
import io.cloudevents.http.HttpMessageFactory;
import io.cloudevents.jackson.JsonCloudEventData;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.OffsetDateTime;

/** Sends one event with the CloudEvents SDK of Java. */
public class Sdk {
  public static void main(String[] args) throws Exception {
    ObjectMapper json = new ObjectMapper();
    JsonNode call = json.readTree(System.getenv("CALL"));
    String type = call.path("type").asText("application/json");
    String data = call.get("data").asText();
    CloudEventBuilder builder = CloudEventBuilder.v1().withId(call.get("id").asText()).withSource(URI.create("/shop")).withType("refund.requested")
        .withTime(OffsetDateTime.parse("2026-11-30T18:00:00.123456789+01:00"));
    // An event with bytes has no media type: the SDK then cannot know that they are JSON.
    CloudEvent event = call.has("bytes")
        ? builder.withData(BytesCloudEventData.wrap(data.getBytes(StandardCharsets.UTF_8))).build()
        : builder.withDataContentType(type).withData(JsonCloudEventData.wrap(json.readTree(data))).build();
    HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(System.getenv("BASE") + "/v1/events")).version(HttpClient.Version.HTTP_1_1)
        .header("Authorization", "Bearer " + System.getenv("KEY"));
    byte[][] body = new byte[1][];
    MessageWriter<?, Void> writer = HttpMessageFactory.createWriter(request::header, b -> body[0] = b);
    try {
      if (call.get("mode").asText().equals("structured")) {
        writer.writeStructured(event, "application/cloudevents+json");
      } else {
        writer.writeBinary(event);
      }
    } catch (IllegalArgumentException e) { // the SDK does not encode attributes
      System.err.println(e.getMessage());
      System.exit(3);
    }
    HttpResponse<String> answer = HttpClient.newHttpClient().send(request.POST(BodyPublishers.ofByteArray(body[0])).build(), BodyHandlers.ofString());
    System.out.println(answer.statusCode() + " " + answer.body());
    System.exit(answer.statusCode() / 100 == 2 ? 0 : 1);
  }
}
