/** The OpenAPI document, made from the contract. Shapes with an id become components. */

import { z } from "zod";
import type { Call } from "../contract/call.ts";
import { calls } from "../contract/contract.ts";
import { change, changeStream } from "../contract/events.ts";
import { errorAnswer } from "../contract/shapes.ts";

type Schema = { [key: string]: unknown };

export function openApiDocument(version: string): Schema {
  const components: Record<string, Schema> = {};
  const paths: Record<string, Record<string, Schema>> = {};
  const error = { description: "What is wrong.", ...json(schemaOf(errorAnswer, components)) };

  const operation = (
    call: Omit<Call, "name" | "answer" | "reads" | "status" | "maxValues" | "maxBytes"> & {
      name: string;
    },
    success: Record<string, Schema>,
  ): Schema => ({
    operationId: call.name,
    summary: call.summary,
    tags: [call.name.split(".")[0]],
    ...(call.isPublic ? { security: [] } : {}),
    parameters: [
      ...parametersOf(call.params, "path", components),
      ...parametersOf(call.query, "query", components),
    ],
    ...(call.body === null
      ? {}
      : {
          requestBody: {
            required: !call.body.safeParse({}).success,
            ...json(schemaOf(call.body, components)),
          },
        }),
    responses: { ...success, default: error },
  });

  for (const call of Object.values<Call>(calls)) {
    const success = {
      [call.status]: { description: "Done.", ...json(schemaOf(call.answer, components)) },
    };
    (paths[call.path] ??= {})[call.method.toLowerCase()] = operation(call, success);
  }
  paths[changeStream.path] = {
    get: operation(
      { ...changeStream, params: null, body: null, isPublic: false },
      {
        200: {
          description: "Events named `change`, each with a Change as its data.",
          content: { "text/event-stream": { schema: schemaOf(change, components) } },
        },
      },
    ),
  };

  return {
    openapi: "3.1.0",
    info: {
      title: "Hookyard control API",
      version,
      description:
        "Every call but /api/health and this document requires the token that Hookyard prints when it starts, as `Authorization: Bearer <token>`.",
    },
    security: [{ token: [] }],
    paths,
    components: {
      schemas: components,
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
    },
  };
}

function json(schema: Schema): Schema {
  return { content: { "application/json": { schema } } };
}

function parametersOf(
  members: z.ZodObject | null,
  place: "path" | "query",
  components: Record<string, Schema>,
): Schema[] {
  return Object.entries(members?.shape ?? {}).map(([name, schema]) => {
    const { description, ...rest } = schemaOf(schema as z.ZodType, components);
    return {
      name,
      in: place,
      required: !(schema as z.ZodType).safeParse(undefined).success,
      description,
      schema: rest,
    };
  });
}

/**
 * Converted as a member of something, so that a shape with an id comes out as a reference to it.
 */
function schemaOf(schema: z.ZodType, components: Record<string, Schema>): Schema {
  const { $defs = {}, properties } = rewritten(
    z.toJSONSchema(z.object({ schema }), { io: "input" }),
  ) as {
    $defs?: Record<string, Schema>;
    properties: { schema: Schema };
  };
  for (const [id, { id: _, ...shape }] of Object.entries($defs)) components[id] = shape;
  return properties.schema;
}

/**
 * Whole numbers come with the bounds of what JavaScript can count, which say nothing to a reader.
 */
function rewritten(schema: object): unknown {
  const text = JSON.stringify(schema, (key, member: unknown) => {
    if (key === "$ref") return String(member).replace("#/$defs/", "#/components/schemas/");
    return typeof member === "number" && Math.abs(member) === Number.MAX_SAFE_INTEGER
      ? undefined
      : member;
  });
  return JSON.parse(text);
}
