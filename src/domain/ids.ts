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
export type JobId = Id<"job">;
export type RetryProfileId = Id<"retry profile">;
export type ProfileId = Id<"profile">;
export type AudienceId = Id<"audience">;
export type ComputedTraitId = Id<"computed trait">;
export type DeletionId = Id<"deletion">;
export type ClientId = Id<"client">;

const width = 9;

function spelling<T extends Id<string>>(prefix: string) {
  const pattern = new RegExp(`^${prefix}_([0-9a-z]{${width}})$`);
  return {
    format: (id: T): string => `${prefix}_${id.toString(36).padStart(width, "0")}`,
    parse: (text: string): T | null => {
      const digits = pattern.exec(text)?.[1];
      if (digits === undefined) return null;
      const id = Number.parseInt(digits, 36);
      return Number.isSafeInteger(id) ? (id as T) : null;
    },
  };
}

export const sourceIds = spelling<SourceId>("src");
export const destinationIds = spelling<DestinationId>("dst");
export const webhookIds = spelling<WebhookId>("whk");
export const messageIds = spelling<MessageRowId>("msg");
export const deliveryIds = spelling<DeliveryId>("dlv");
export const attemptIds = spelling<AttemptId>("att");
export const endpointIds = spelling<EndpointId>("ept");
export const receivedRequestIds = spelling<ReceivedRequestId>("rcv");
export const jobIds = spelling<JobId>("job");
export const retryProfileIds = spelling<RetryProfileId>("rtp");
export const profileIds = spelling<ProfileId>("prf");
export const audienceIds = spelling<AudienceId>("aud");
export const computedTraitIds = spelling<ComputedTraitId>("trt");
export const deletionIds = spelling<DeletionId>("del");
export const clientIds = spelling<ClientId>("clt");
