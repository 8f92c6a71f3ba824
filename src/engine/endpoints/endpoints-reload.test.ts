import { describe, expect, test } from "vitest";
import { askWithNode } from "../../../test/support/foreign-clients.ts";
import { createEndpointStore, startEndpoints } from "../../../test/support/running-endpoints.ts";
import type { Step } from "../../domain/configuration.ts";

describe("after the store was changed behind their back", () => {
  test("the endpoints are those of the store, and what did not change goes on where it stood", async () => {
    const store = createEndpointStore();
    const { endpoints, create, clock, whenReceived } = await startEndpoints({ store });
    const steps: Step[] = [{ do: "answer", status: 503 }, { do: "answer" }];
    const same = create({ name: "Same", steps });
    const changed = create({ name: "Changed", steps });
    const gone = create({ name: "Gone", steps: [{ do: "hang", forMs: 1_000 }] });
    await Promise.all([askWithNode(same.url), askWithNode(changed.url)]);
    const held = askWithNode(gone.url);
    await whenReceived(3);

    store.deleteEndpoint(gone.id);
    const { url: _, tlsUrl: __, position: ___, ...stored } = changed;
    store.updateEndpoint({ ...stored, path: "moved", steps: [{ do: "reset" }] });
    const added = store.insertEndpoint({
      name: "Added",
      path: "changed",
      steps,
      after: "repeat-last",
      createdAt: clock.now(),
    });
    endpoints.reload();

    expect(endpoints.list().map(({ path, position }) => [path, position.step])).toEqual([
      ["same", 1],
      ["moved", 0],
      ["changed", 0],
    ]);
    expect(endpoints.get(added.id)?.name).toBe("Added");
    expect(await held).toEqual({ failed: "ECONNRESET" });
    expect(clock.scheduled()).toEqual([]);
  });

  test("a path may have gone from one to another", async () => {
    const store = createEndpointStore();
    const { endpoints, create } = await startEndpoints({ store });
    const answering = (status: number): Step[] => [{ do: "answer", status }];
    const one = create({ path: "one", steps: answering(201) });
    const two = create({ path: "two", steps: answering(202) });
    const three = create({ path: "three", steps: answering(203) });
    const storedWith = (view: typeof one, path: string) => {
      const { url: _, tlsUrl: __, position: ___, ...stored } = view;
      store.updateEndpoint({ ...stored, path });
    };
    store.deleteEndpoint(three.id);
    storedWith(one, "three");
    storedWith(two, "one");
    endpoints.reload();
    const statusOf = async ({ url }: typeof one) => (await fetch(url)).status;
    expect([await statusOf(one), await statusOf(two), await statusOf(three)]).toEqual([
      202, 404, 201,
    ]);
  });

  test("an endpoint with the id of one that was there before is another one", async () => {
    const first = createEndpointStore();
    let store = first;
    const { endpoints, create, clock } = await startEndpoints({
      store: { ...first, endpoints: () => store.endpoints() },
    });
    const { id, url } = create({ steps: [] });
    await askWithNode(url);
    store = createEndpointStore();
    const other = store.insertEndpoint({
      name: "Other",
      path: "under-test",
      steps: [{ do: "answer" }],
      after: "repeat-last",
      createdAt: clock.now() + 1,
    });
    endpoints.reload();
    expect(other.id).toBe(id);
    expect(endpoints.get(id)).toMatchObject({ name: "Other", position: { received: 0 } });
    expect(endpoints.received(id, 10, null)).toMatchObject({ total: 0 });
  });
});
