/** Bytes that a message's answer leaves out, because it would be larger than 1 MB. */

import type { AnswerOf } from "../../../contract/contract.ts";
import { useOnce } from "../../stores/live-data.ts";
import { call } from "../../transport/transport.ts";

type Message = AnswerOf<"messages.get">;
type Delivery = Message["deliveries"][number];
type Attempt = Delivery["attempts"][number];

const lacksPayload = ({ payload, payloadSize }: Delivery): boolean =>
  payload === "" && payloadSize > 0;

/** Without its payload until that has been read. */
export function useWholeDelivery(delivery: Delivery | undefined): Delivery | undefined {
  const lacking = delivery !== undefined && lacksPayload(delivery) ? { id: delivery.id } : null;
  const { answer } = useOnce("deliveries.get", lacking);
  return lacking === null || answer === undefined || delivery === undefined
    ? delivery
    : { ...delivery, payload: answer.payload };
}

/** Undefined until its bytes have been read. */
export function useWholeAttempt(
  delivery: Delivery,
  attempt: Attempt | undefined,
): Attempt | undefined {
  const lacking = attempt?.leftOut === true ? { id: delivery.id, attempt: attempt.id } : null;
  const { answer } = useOnce("deliveries.attempt", lacking);
  return lacking === null ? attempt : answer;
}

export const wholePayload = async (delivery: Delivery, read = call): Promise<Delivery["payload"]> =>
  (lacksPayload(delivery) ? await read("deliveries.get", { id: delivery.id }) : delivery).payload;

/** Reads them for all deliveries and attempts. */
export async function withAllBytes(message: Message, read = call): Promise<Message> {
  const deliveries: Delivery[] = [];
  for (const delivery of message.deliveries) {
    const { id } = delivery;
    const payload = await wholePayload(delivery, read);
    const attempts: Attempt[] = [];
    for (const attempt of delivery.attempts)
      attempts.push(
        attempt.leftOut ? await read("deliveries.attempt", { id, attempt: attempt.id }) : attempt,
      );
    deliveries.push({ ...delivery, payload, attempts });
  }
  return { ...message, deliveries };
}
