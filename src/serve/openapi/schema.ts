import {
  closedSchema,
  flagSchema,
  servedToolSchemas,
  textsByNameSchema,
  textSchema,
  textsSchema,
  timeSchema,
  type JsonSchema,
} from "../file-schemas.ts";

const credential: JsonSchema = {
  anyOf: [
    textSchema("A token or key."),
    closedSchema({ username: textSchema("A name."), password: textSchema("Its password.") }, [
      "username",
      "password",
    ]),
    closedSchema(
      {
        clientId: textSchema("The id of a client of OAuth 2."),
        clientSecret: textSchema("Its secret."),
        scope: textSchema("Scopes, separated by spaces."),
      },
      ["clientId", "clientSecret"],
    ),
  ],
};

/** The options of `openapi`, as a file gives them. */
export const openApiOptionsSchema: JsonSchema = closedSchema(
  {
    document: {
      anyOf: [{ type: "string", minLength: 1 }, { type: "object" }],
      description: "The document: the path of a file or an address, of JSON or YAML, or what is in it.",
    },
    server: textSchema("Where the service is. Default: the first server of the document."),
    prefix: { type: "string", description: "Before the names of its tools." },
    include: textsSchema(
      "The operations to serve: by their ids, by tag (tag:pets), or by method and path (GET /pets/*); * stands for any characters. Default: all.",
    ),
    exclude: textsSchema("The operations to leave out, in the same way."),
    operations: {
      type: "object",
      additionalProperties: closedSchema({
        ...servedToolSchemas,
        mayRepeat: flagSchema("Whether the request may be sent again if its answer was lost."),
        pending: {
          ...closedSchema(
            {
              at: textSchema("A JSON pointer."),
              is: textsSchema("The values that say that the work goes on."),
            },
            ["at", "is"],
          ),
          description: "How an answer says that the work goes on. Default: only 202 says so.",
        },
      }),
      description: "Options of single operations, by their ids.",
    },
    credentials: {
      type: "object",
      additionalProperties: credential,
      description: "By the names of the document's security schemes.",
    },
    headers: textsByNameSchema("Sent with every request."),
    idempotencyHeader: textSchema(
      "A header in which the service takes a key by which it recognises a repeated request.",
    ),
    respondAsync: flagSchema(
      "Whether to ask for the answer of long work by an address (RFC 7240). Default false.",
    ),
    allow: textsSchema("Hosts, addresses and ranges outside of the public internet that may be reached."),
    retries: {
      type: "integer",
      minimum: 0,
      description: "How often a failed request is sent again that may be. Default 5.",
    },
    timeoutMs: timeSchema("How long the service may take for one answer. Default: no limit."),
    durable: flagSchema(
      "false: requests are sent while the caller waits, and nothing is stored. Default true.",
    ),
  },
  ["document"],
);
