/** Receivers that verify `X-Signature` over the bytes as they came; each is a whole program that runs with its language alone. */

export const snippetLanguages = ["node", "python", "go", "ruby"] as const;
export type SnippetLanguage = (typeof snippetLanguages)[number];

/** The program takes SHARED_SECRET and PORT (default 8080) from its environment. */
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
  for await (const chunk of request) chunks.push(chunk);
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
  expected.bytesize == signature.to_s.bytesize && OpenSSL.fixed_length_secure_compare(expected, signature)
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

const snippets: Record<SnippetLanguage, string> = { node, python, go, ruby };
