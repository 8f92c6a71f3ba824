/**
 * Receivers that verify `X-Signature` over the bytes as they came; each is a whole program that
 * runs with its language alone.
 */

export const snippetLanguages = ["node", "python", "go", "ruby", "php", "perl", "java"] as const;
export type SnippetLanguage = (typeof snippetLanguages)[number];

/**
 * The program takes SHARED_SECRET from its environment, and PORT (default 8080) from there or, in
 * PHP, from the address it is served at.
 */
export function verificationSnippet(language: SnippetLanguage): string {
  return snippets[language];
}

const node = `// SHARED_SECRET=… node receiver.mjs
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const secret = process.env.SHARED_SECRET ?? "";

function verify(body, signature) {
  const expected = createHmac("sha1", secret).update(body).digest();
  const given = Buffer.from(signature ?? "", "hex");
  return given.length === expected.length && timingSafeEqual(given, expected);
}

const server = createServer(async (request, response) => {
  const chunks = [];
  try {
    for await (const chunk of request) chunks.push(chunk);
  } catch {
    return; // The sender disconnected in the middle of its request.
  }
  const body = Buffer.concat(chunks);
  const valid = verify(body, request.headers["x-signature"]);
  console.log(valid ? "valid" : "INVALID", body.toString());
  response.writeHead(valid ? 200 : 401).end();
});
server.listen(Number(process.env.PORT ?? 8080), "127.0.0.1", () => {
  console.log(\`listening on http://127.0.0.1:\${server.address().port}\`);
});
`;

const python = `# SHARED_SECRET=… python3 receiver.py
import hashlib
import hmac
import os
from http.server import BaseHTTPRequestHandler, HTTPServer

secret = os.environ.get("SHARED_SECRET", "").encode("utf-8")


def verify(body, signature):
    expected = hmac.new(secret, body, hashlib.sha1).hexdigest()
    return hmac.compare_digest(expected.encode(), (signature or "").encode())


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        valid = verify(body, self.headers.get("X-Signature"))
        print("valid" if valid else "INVALID", body.decode("utf-8"), flush=True)
        self.send_response(200 if valid else 401)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_PUT = do_PATCH = do_POST


server = HTTPServer(("127.0.0.1", int(os.environ.get("PORT", 8080))), Receiver)
print("listening on http://127.0.0.1:%d" % server.server_port, flush=True)
server.serve_forever()
`;

const go = `// SHARED_SECRET=… go run receiver.go
package main

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
)

func verify(body []byte, signature string) bool {
	mac := hmac.New(sha1.New, []byte(os.Getenv("SHARED_SECRET")))
	mac.Write(body)
	given, err := hex.DecodeString(signature)
	return err == nil && hmac.Equal(given, mac.Sum(nil))
}

func receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if !verify(body, r.Header.Get("X-Signature")) {
		fmt.Println("INVALID", string(body))
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	fmt.Println("valid", string(body))
}

func main() {
	port := os.Getenv("PORT")
	if port == "" {
		port = "8080"
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on http://%s\\n", listener.Addr())
	log.Fatal(http.Serve(listener, http.HandlerFunc(receive)))
}
`;

const ruby = `# SHARED_SECRET=… ruby receiver.rb
require "openssl"
require "socket"

SECRET = ENV.fetch("SHARED_SECRET", "")

def verify(body, signature)
  expected = OpenSSL::HMAC.hexdigest("SHA1", SECRET, body)
  expected.bytesize == signature.to_s.bytesize &&
    expected.bytes.zip(signature.bytes).sum { |a, b| a ^ b }.zero?
end

server = TCPServer.new("127.0.0.1", ENV.fetch("PORT", "8080").to_i)
puts "listening on http://127.0.0.1:#{server.addr[1]}"
$stdout.flush
loop do
  Thread.start(server.accept) do |client|
    client.gets
    headers = {}
    while (line = client.gets&.chomp) && !line.empty?
      name, value = line.split(":", 2)
      headers[name.downcase] = value.to_s.strip
    end
    body = client.read(headers["content-length"].to_i).to_s
    valid = verify(body, headers["x-signature"])
    puts "#{valid ? "valid" : "INVALID"} #{body}"
    $stdout.flush
    client.write("HTTP/1.1 #{valid ? "200 OK" : "401 Unauthorized"}\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n")
    client.close
  end
end
`;

const php = `<?php // SHARED_SECRET=… php -S 127.0.0.1:8080 receiver.php

function verify(string $body, string $signature): bool
{
    $expected = hash_hmac('sha1', $body, (string) getenv('SHARED_SECRET'));
    return hash_equals($expected, $signature);
}

$body = (string) file_get_contents('php://input');
$valid = verify($body, $_SERVER['HTTP_X_SIGNATURE'] ?? '');
error_log(($valid ? 'valid ' : 'INVALID ') . $body);
http_response_code($valid ? 200 : 401);
`;

const perl = `# SHARED_SECRET=… perl receiver.pl
use strict;
use warnings;
use Digest::SHA qw(hmac_sha1_hex);
use IO::Socket::INET;

my $secret = $ENV{SHARED_SECRET} // "";
$SIG{PIPE} = "IGNORE"; # A sender may disconnect before it has its answer.

# The xor of two equal texts is nothing but zeros. It takes as long wherever they differ.
sub verify {
    my ($body, $signature) = @_;
    my $expected = hmac_sha1_hex($body, $secret);
    return length($signature) == length($expected) && ($signature ^ $expected) =~ tr/\\0//c == 0;
}

my $server = IO::Socket::INET->new(
    LocalAddr => "127.0.0.1",
    LocalPort => $ENV{PORT} // 8080,
    Listen    => 64,
    ReuseAddr => 1,
) or die "cannot listen: $@";
$| = 1;
print "listening on http://127.0.0.1:", $server->sockport, "\\n";

while (my $client = $server->accept) {
    my ($body, %headers) = ("");
    <$client>;
    while (defined(my $line = <$client>)) {
        last if $line =~ /^\\r?\\n$/;
        $headers{lc $1} = $2 if $line =~ /^([^:]+):\\s*(.*?)\\r?\\n$/;
    }
    read($client, $body, $headers{"content-length"} // 0);
    my $valid = verify($body, $headers{"x-signature"} // "");
    print $valid ? "valid" : "INVALID", " $body\\n";
    print $client "HTTP/1.1 ", $valid ? "200 OK" : "401 Unauthorized", "\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n";
    close $client;
}
`;

const java = `// SHARED_SECRET=… java Receiver.java
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.HexFormat;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public class Receiver {
    static boolean verify(byte[] body, String signature) throws Exception {
        byte[] secret = System.getenv("SHARED_SECRET").getBytes(StandardCharsets.UTF_8);
        Mac mac = Mac.getInstance("HmacSHA1");
        mac.init(new SecretKeySpec(secret, "HmacSHA1"));
        String expected = HexFormat.of().formatHex(mac.doFinal(body));
        return signature != null && MessageDigest.isEqual(expected.getBytes(), signature.getBytes());
    }

    public static void main(String[] arguments) throws Exception {
        int port = Integer.parseInt(System.getenv().getOrDefault("PORT", "8080"));
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
        server.createContext("/", exchange -> {
            byte[] body = exchange.getRequestBody().readAllBytes();
            boolean valid = false;
            try {
                valid = verify(body, exchange.getRequestHeaders().getFirst("X-Signature"));
            } catch (Exception problem) {
                problem.printStackTrace();
            }
            System.out.println((valid ? "valid " : "INVALID ") + new String(body, StandardCharsets.UTF_8));
            exchange.sendResponseHeaders(valid ? 200 : 401, -1);
            exchange.close();
        });
        server.start();
        System.out.println("listening on http://127.0.0.1:" + server.getAddress().getPort());
    }
}
`;

const snippets: Record<SnippetLanguage, string> = { node, python, go, ruby, php, perl, java };
