/**
 * The program under test: a shop's order service that takes orders from a webhook. It checks the
 * signature, drops what it has already, answers 503 while its database is down, and says on
 * standard output where it listens.
 */

import { createHmac, timingSafeEqual } from "node:crypto";
import { express } from "./small-express.ts";

const secret = process.env["WEBHOOK_SECRET"] ?? "";
const orders = new Map<string, { event: string; total: number }>();
let database = { up: true };
let refused = 0;

const app = express();

app.post(
  "/webhooks/orders",
  (request, response, next) => {
    const wanted = createHmac("sha1", secret).update(request.body).digest();
    const given = Buffer.from(String(request.headers["x-signature"] ?? ""), "hex");
    if (given.length === wanted.length && timingSafeEqual(given, wanted)) next();
    else response.status(401).json({ error: "the signature does not verify" });
  },
  (request, response) => {
    if (!database.up) {
      refused += 1;
      response.status(503).json({ error: "the database is down" });
      return;
    }
    const { messageId, event, properties } = JSON.parse(request.body.toString()) as {
      messageId: string;
      event: string;
      properties: { total: number };
    };
    const known = orders.has(messageId);
    if (!known) orders.set(messageId, { event, total: properties.total });
    response.status(known ? 200 : 201).json({ known });
  },
);

app.post("/database", (request, response) => {
  database = JSON.parse(request.body.toString()) as typeof database;
  response.json(database);
});

app.get("/orders", (_request, response) =>
  response.json({ orders: [...orders.values()], refused }),
);

app.listen((port) => process.stdout.write(`${port}\n`));
