/**
 * Ids as the API spells them: a prefix that says what the thing is, and its row number in base 36,
 * padded so that sorting the strings sorts the numbers.
 */

declare const brand: unique symbol;
type Id<Name extends string> = number & { readonly [brand]: Name };

export type SourceId = Id<"source">;
export type DestinationId = Id<"destination">;
export type WebhookId = Id<"webhook">;
export type MessageRowId = Id<"message">;
export type DeliveryId = Id<"delivery">;
export type AttemptId = Id<"attempt">;
export type EndpointId = Id<"endpoint">;
export type ReceivedRequestId = Id<"received request">;
export type RefusedRequestId = Id<"refused request">;
export type JobId = Id<"job">;
export type RetryProfileId = Id<"retry profile">;
export type ProfileId = Id<"profile">;
export type AudienceId = Id<"audience">;
export type ComputedTraitId = Id<"computed trait">;
export type DeletionId = Id<"deletion">;
export type ClientId = Id<"client">;

const width = 9;

/** How an id is written in the API, and what it is the id of. */
export type IdSpelling<T extends number> = {
  what: string;
  format(id: T): string;
  parse(text: string): T | null;
};

function spelling<T extends Id<string>>(prefix: string, what: string): IdSpelling<T> {
  const pattern = new RegExp(`^${prefix}_([0-9a-z]{${width}})$`);
  return {
    what,
    format: (id: T): string => `${prefix}_${id.toString(36).padStart(width, "0")}`,
    parse: (text: string): T | null => {
      const digits = pattern.exec(text)?.[1];
      return digits === undefined ? null : (Number.parseInt(digits, 36) as T);
    },
  };
}

export const sourceIds = spelling<SourceId>("src", "source");
export const destinationIds = spelling<DestinationId>("dst", "destination");
export const webhookIds = spelling<WebhookId>("whk", "webhook");
export const messageIds = spelling<MessageRowId>("msg", "message");
export const deliveryIds = spelling<DeliveryId>("dlv", "delivery");
export const attemptIds = spelling<AttemptId>("att", "attempt");
export const endpointIds = spelling<EndpointId>("ept", "test endpoint");
export const receivedRequestIds = spelling<ReceivedRequestId>("rcv", "received request");
export const refusedRequestIds = spelling<RefusedRequestId>("rfs", "refused request");
export const jobIds = spelling<JobId>("job", "job");
export const retryProfileIds = spelling<RetryProfileId>("rtp", "retry profile");
export const profileIds = spelling<ProfileId>("prf", "profile");
export const audienceIds = spelling<AudienceId>("aud", "audience");
export const computedTraitIds = spelling<ComputedTraitId>("trt", "computed trait");
export const deletionIds = spelling<DeletionId>("del", "deletion request");
export const clientIds = spelling<ClientId>("clt", "client");
