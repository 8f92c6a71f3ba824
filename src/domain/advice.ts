/**
 * The usual fixes, as code. Complete programs are in `verification-snippets.ts`; these are the
 * lines that matter.
 */

import { verificationSnippet } from "./verification-snippets.ts";

export const advices = ["verify-signature", "idempotency", "order", "answer-first"] as const;
export type Advice = (typeof advices)[number];

export const adviceLanguages = ["node", "python", "go", "ruby", "php"] as const;
export type AdviceLanguage = (typeof adviceLanguages)[number];

export const languageNames: Record<AdviceLanguage, string> = {
  node: "Node",
  python: "Python",
  go: "Go",
  ruby: "Ruby",
  php: "PHP",
};

type Fix = { title: string; code(language: AdviceLanguage): string };

const idempotency: Record<AdviceLanguage, string> = {
  node: `// create table seen (message_id text primary key)
// A deletion has no messageId: its user and time stand for it.
const id = message.messageId ?? \`delete \${message.userId} \${message.timestamp}\`;
await db.transaction(async (tx) => {
  const first = await tx.run(
    "insert into seen (message_id) values (?) on conflict do nothing",
    [id],
  );
  if (first.changes === 1) await bookOrder(tx, message);
});
response.writeHead(204).end();
`,
  python: `# create table seen (message_id text primary key)
# A deletion has no messageId: its user and time stand for it.
message_id = message.get("messageId") or f"delete {message['userId']} {message['timestamp']}"
with db:  # one transaction
    first = db.execute(
        "insert into seen (message_id) values (?) on conflict do nothing",
        (message_id,),
    )
    if first.rowcount == 1:
        book_order(db, message)
return "", 204
`,
  go: `// create table seen (message_id text primary key)
// A deletion has no messageId: its user and time stand for it.
id := message.MessageID
if id == "" {
	id = fmt.Sprintf("delete %s %s", message.UserID, message.Timestamp)
}
tx, err := db.BeginTx(context.WithoutCancel(r.Context()), nil)
if err != nil {
	http.Error(w, "try again", http.StatusServiceUnavailable)
	return
}
defer tx.Rollback()
first, err := tx.Exec("insert into seen (message_id) values ($1) on conflict do nothing", id)
if err == nil {
	if n, _ := first.RowsAffected(); n == 1 {
		err = bookOrder(tx, message)
	}
}
if err != nil || tx.Commit() != nil {
	http.Error(w, "try again", http.StatusServiceUnavailable)
	return
}
w.WriteHeader(http.StatusNoContent)
`,
  ruby: `# create table seen (message_id text primary key)
# A deletion has no messageId: its user and time stand for it.
id = message["messageId"] || "delete #{message["userId"]} #{message["timestamp"]}"
Message.transaction do
  first = Seen.insert({ message_id: id }, unique_by: :message_id)
  book_order(message) if first.rows.any?
end
head :no_content
`,
  php: `// create table seen (message_id varchar(255) primary key)
// A deletion has no messageId: its user and time stand for it.
$id = $message['messageId'] ?? "delete {$message['userId']} {$message['timestamp']}";
$db->beginTransaction();
$first = $db->prepare('insert into seen (message_id) values (?) on conflict do nothing');
$first->execute([$id]);
if ($first->rowCount() === 1) {
    bookOrder($db, $message);
}
$db->commit();
http_response_code(204);
`,
};

const order: Record<AdviceLanguage, string> = {
  node: `await db.run(
  \`insert into users (id, traits, updated_at) values (?, ?, ?)
   on conflict (id) do update set traits = excluded.traits, updated_at = excluded.updated_at
   where excluded.updated_at > users.updated_at\`,
  [message.userId, JSON.stringify(message.traits), message.timestamp],
);
`,
  python: `db.execute(
    """insert into users (id, traits, updated_at) values (?, ?, ?)
       on conflict (id) do update set traits = excluded.traits, updated_at = excluded.updated_at
       where excluded.updated_at > users.updated_at""",
    (message["userId"], json.dumps(message["traits"]), message["timestamp"]),
)
`,
  go: `_, err = db.Exec(\`insert into users (id, traits, updated_at) values ($1, $2, $3)
	on conflict (id) do update set traits = excluded.traits, updated_at = excluded.updated_at
	where excluded.updated_at > users.updated_at\`,
	message.UserID, traits, message.Timestamp)
`,
  ruby: `User.where(id: message["userId"])
    .where("updated_at < ?", message["timestamp"])
    .update_all(traits: message["traits"], updated_at: message["timestamp"])
`,
  php: `$db->prepare('insert into users (id, traits, updated_at) values (?, ?, ?)
  on conflict (id) do update set traits = excluded.traits, updated_at = excluded.updated_at
  where excluded.updated_at > users.updated_at')
  ->execute([$message['userId'], json_encode($message['traits']), $message['timestamp']]);
`,
};

const answerFirst: Record<AdviceLanguage, string> = {
  node: `await queue.add(body); // durable: a table or a broker, not memory
response.writeHead(202).end();
`,
  python: `queue.add(body)  # durable: a table or a broker, not memory
return "", 202
`,
  go: `if err := queue.Add(body); err != nil { // durable: a table or a broker, not memory
	http.Error(w, "try again", http.StatusServiceUnavailable)
	return
}
w.WriteHeader(http.StatusAccepted)
`,
  ruby: `WebhookJob.perform_later(body) # durable: a table or a broker, not memory
head :accepted
`,
  php: `$queue->add($body); // durable: a table or a broker, not memory
http_response_code(202);
`,
};

export const fixes: Record<Advice, Fix> = {
  "verify-signature": {
    title: "Verify the bytes as they came, in constant time",
    code: verificationSnippet,
  },
  idempotency: {
    title: "Remember the messageId in the same transaction",
    code: (language) => idempotency[language],
  },
  order: { title: "Overwrite only with what is newer", code: (language) => order[language] },
  "answer-first": {
    title: "Store the message, answer, then work",
    code: (language) => answerFirst[language],
  },
};
