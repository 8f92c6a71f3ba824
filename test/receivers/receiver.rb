# A receiver on sockets, with HTTP/1.0 and text lines as effects. It is right, except for the one bug that --bug names.

require "json"
require "openssl"
require "optparse"
require "socket"

$options = { port: "0", secret: "" }
OptionParser.new do |parser|
  parser.on("--bug NAME")
  parser.on("--style NAME")
  parser.on("--port PORT")
  parser.on("--secret SECRET")
  parser.on("--second-ms MS")
end.parse!(into: $options)

KNOWN_TYPES = %w[identify track page screen group alias delete]
$lock = Mutex.new
$effects = []
$profiles = {}
$done = {}

def bug?(name)
  $options[:bug] == name
end

def signed?(body, signature)
  expected = OpenSSL::HMAC.hexdigest("SHA1", $options[:secret], body)
  expected.bytesize == signature.to_s.bytesize && OpenSSL.fixed_length_secure_compare(expected, signature)
end

def apply(message)
  user = message["userId"] || message["User ID"]
  user = user.strip if bug?("no-user-id-crash")
  user ||= message["anonymousId"]
  token = (message["properties"] || message["traits"] || {})["token"]
  effect = { type: message["type"], user: user, token: token, at: message["timestamp"].to_s }
  if effect[:type] == "identify"
    known = $profiles[user]
    $profiles[user] = effect if known.nil? || known[:at] <= effect[:at]
    return
  end
  $profiles.delete(user) if effect[:type] == "delete"
  $effects << effect
end

def receive(method, headers, body)
  return 405 if method != "POST"
  return 401 unless signed?(body, headers["x-signature"])
  begin
    message = JSON.parse(body.force_encoding("UTF-8"))
  rescue JSON::ParserError
    return 400
  end
  return 400 unless message.is_a?(Hash)
  return 404 if bug?("delete-not-found") && message["type"] == "delete"
  return 200 unless KNOWN_TYPES.include?(message["type"])
  key = message["type"] == "delete" ? "delete #{message["userId"]}" : message["messageId"]
  return 400 if key.nil?
  $lock.synchronize do
    next if $done[key] && !bug?("no-idempotency")
    apply(message)
    $done[key] = true
  end
  200
end

def lines
  ($profiles.values + $effects).map { |effect| effect.values.join(" ") + "\n" }.join
end

def serve(client)
  method, path = client.gets.to_s.split
  headers = {}
  while (line = client.gets&.chomp) && !line.empty?
    name, value = line.split(":", 2)
    headers[name.downcase] = value.to_s.strip
  end
  body = client.read(headers["content-length"].to_i).to_s
  text = ""
  status =
    if path == "/effects"
      text = $lock.synchronize { lines }
      200
    else
      path == "/hooks" ? receive(method, headers, body) : 404
    end
rescue StandardError
  status = 500
ensure
  client.write("HTTP/1.0 #{status} Answer\r\nContent-Type: text/plain\r\n\r\n#{text}") rescue nil
  client.close
end

server = TCPServer.new("127.0.0.1", $options[:port].to_i)
server.listen(512)
puts server.addr[1]
$stdout.flush
Thread.new { loop { Thread.start(server.accept) { |client| serve(client) } } }
$stdin.read
exit!(0)
