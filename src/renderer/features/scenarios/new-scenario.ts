/** Where a new scenario begins: short, complete, and it passes. */

export const newScenario = `name: A new scenario

endpoints:
  Receiver: [{ status: 503, times: 2 }, { status: 200 }]

destinations:
  Shop:
    webhooks: [{ endpoint: Receiver }]
    sharedSecret: s3cret

steps:
  - send: { type: track, event: Order Completed, userId: u_1042 }

  - name: The receiver recovers in the third round
    expect:
      - deliveries: { count: 1, state: delivered, within: 5m }
      - attempts: { of: { result: 503 }, count: 2 }
      - requests: { of: { endpoint: Receiver }, signature: valid }
`;
