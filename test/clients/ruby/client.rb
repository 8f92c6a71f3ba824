# Every call of analytics-ruby: client.rb HOST PORT KEY COUNT.
require "segment/analytics"

Segment::Analytics::Defaults::Request.send(:remove_const, :SSL)
Segment::Analytics::Defaults::Request::SSL = false

host, port, key, count = ARGV
analytics = Segment::Analytics.new(write_key: key, host: host, port: port.to_i)
(1..count.to_i).each do |n|
  user = { user_id: "u_#{n}" }
  case n % 6
  when 0 then analytics.identify(**user, traits: { n: n })
  when 1 then analytics.track(**user, event: "Order Completed", properties: { n: n })
  when 2 then analytics.page(**user, name: "Home", properties: { n: n })
  when 3 then analytics.screen(**user, name: "Main", properties: { n: n })
  when 4 then analytics.group(**user, group_id: "acme", traits: { n: n })
  else analytics.alias(**user, previous_id: "before")
  end
  analytics.flush if n == count.to_i / 2
end
analytics.flush
