import com.segment.analytics.Analytics;
import com.segment.analytics.messages.AliasMessage;
import com.segment.analytics.messages.GroupMessage;
import com.segment.analytics.messages.IdentifyMessage;
import com.segment.analytics.messages.MessageBuilder;
import com.segment.analytics.messages.PageMessage;
import com.segment.analytics.messages.ScreenMessage;
import com.segment.analytics.messages.TrackMessage;
import java.util.Map;

/** Every call of analytics-java: Client ENDPOINT KEY COUNT. */
public class Client {
  public static void main(String[] args) {
    Analytics analytics = Analytics.builder(args[1]).endpoint(args[0]).build();
    int count = Integer.parseInt(args[2]);
    for (int n = 1; n <= count; n++) {
      analytics.enqueue(message(n).userId("u_" + n));
      if (n == count / 2) analytics.flush();
    }
    analytics.shutdown();
  }

  private static MessageBuilder<?, ?> message(int n) {
    Map<String, Integer> numbered = Map.of("n", n);
    switch (n % 6) {
      case 0:
        return IdentifyMessage.builder().traits(numbered);
      case 1:
        return TrackMessage.builder("Order Completed").properties(numbered);
      case 2:
        return PageMessage.builder("Home").properties(numbered);
      case 3:
        return ScreenMessage.builder("Main").properties(numbered);
      case 4:
        return GroupMessage.builder("acme").traits(numbered);
      default:
        return AliasMessage.builder("before");
    }
  }
}
