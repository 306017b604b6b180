import {
  assertOptions,
  flag,
  isObject,
  list,
  number,
  tableOf,
  text,
  time,
  value,
} from "../../options/options.ts";
import { isAllowable } from "../../runtime/allowed-addresses.ts";
import type { ToolOptions } from "../../runtime/tool/tool-options.ts";
import type { TimeSpan } from "../../task/time.ts";
import type { Approval } from "../approval.ts";
import {
  closedSchema,
  flagSchema,
  servedOptions,
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

const isFilled = (given: string): boolean => given !== "";

/** What `tasks.tool` takes as it is. */
export const passedOn = [
  "concurrency",
  "limit",
  "priority",
  "plain",
  "plainDeadlineMs",
  "ttlMs",
  "maxRunMs",
  "inputTimeoutMs",
  "title",
  "description",
] as const;

/** What an operation's document does not say, or says otherwise. */
export interface OperationOptions extends Pick<ToolOptions, (typeof passedOn)[number]> {
  /** The tool's name for clients. Default: the prefix and the operation's id. */
  readonly name?: string;
  /** `false`: the request is sent while the caller waits, and nothing is stored. Default `true`. */
  readonly durable?: boolean;
  readonly approval?: Approval;
  /** Whether the request may be sent again if its answer was lost. Default: if its method says so (GET, HEAD, PUT, DELETE), or with `idempotencyHeader`. */
  readonly mayRepeat?: boolean;
  /** Of an operation that looks at work: the values at this JSON pointer of its answer that say that the work goes on. Default: only 202 says so. */
  readonly pending?: { readonly at: string; readonly is: readonly string[] };
}

class DeclaredOperationOptions {
  readonly name?: string = text("a non-empty string", isFilled, {});
  readonly durable?: boolean = flag();
  readonly approval?: Approval = value('who has to agree: { by: "user" }', isObject);
  readonly mayRepeat?: boolean = flag();
  readonly pending?: OperationOptions["pending"] = value(
    'such as { at: "/status", is: ["running"] }',
    isObject,
  );
}

export const operationOptions = servedOptions(DeclaredOperationOptions, passedOn);

/**
 * What proves to a service who asks: a token or key; a name with a password; or a client with its secret, which gets tokens at the `tokenUrl` of the
 * document.
 */
export type Credential =
  | string
  | { readonly username: string; readonly password: string }
  | { readonly clientId: string; readonly clientSecret: string; readonly scope?: string };

class DeclaredOpenApiOptions {
  /** The document: the path of a file or an address, of JSON or YAML, or what is in it. */
  readonly document: string | Readonly<Record<string, unknown>> = value(
    "a path, an address or an object",
    (given) => typeof given === "string" || isObject(given),
    { required: true },
  );
  /** Where the service is. Default: the first server of the document. */
  readonly server?: string = text("a URL", (url) => URL.canParse(url), {});
  /** Before the names of its tools. Default: nothing. */
  readonly prefix?: string = value("a string", (given) => typeof given === "string");
  /**
   * The operations to serve: by their ids, by tag (`tag:pets`), or by method and path (`GET /pets/*`); `*` stands for any characters. Default: all.
   */
  readonly include?: readonly string[] = list("ids, tags or paths of operations", isFilled);
  /** The operations to leave out, in the same way. */
  readonly exclude?: readonly string[] = list("ids, tags or paths of operations", isFilled);
  /** Options of single operations, by their ids. */
  readonly operations?: Readonly<Record<string, OperationOptions>> = value(
    "an object of options by operation",
    isObject,
  );
  /** By the names of the document's security schemes. */
  readonly credentials?: Readonly<Record<string, Credential>> = value("an object of credentials", isObject, {
    secret: true,
  });
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>> = value("an object of headers", isObject, {
    secret: true,
  });
  /** The name of a header in which the service takes a key, by which it recognises a repeated request, such as `Idempotency-Key`. */
  readonly idempotencyHeader?: string = text("the name of a header", (name) => /^[\w-]+$/u.test(name), {});
  /** Whether to ask for the answer of long work by an address (`Prefer: respond-async`, RFC 7240). Default `false`. */
  readonly respondAsync?: boolean = flag({ default: false });
  /** Hosts, addresses and ranges outside of the public internet that may be reached, such as `["jobs.internal", "10.0.0.0/8"]`. Default: none. */
  readonly allow?: readonly string[] = list("hosts, addresses or ranges", isAllowable);
  /** How often a request is sent again that failed and may be repeated. Default 5. */
  readonly retries?: number = number({ min: 0, default: 5 });
  /** How long the service may take for one answer. Default: no limit. */
  readonly timeoutMs?: TimeSpan = time({ min: 1 });
  /** `false`: requests are sent while the caller waits, and nothing is stored. Default `true`. */
  readonly durable?: boolean = flag({ default: true });
}

/** A service that an OpenAPI document describes, and how its operations are served. */
export interface OpenApiOptions extends DeclaredOpenApiOptions {}

export const openApiOptions = tableOf<OpenApiOptions>(DeclaredOpenApiOptions);

/** Throws `configuration` for options that are wrong. */
export function assertOpenApiOptions(what: string, given: unknown): asserts given is OpenApiOptions {
  assertOptions(what, given, openApiOptions);
  for (const [id, each] of Object.entries(given.operations ?? {}))
    assertOptions(`${what}: operations.${id}`, each, operationOptions);
}
