import type { Requirement } from "./requirement.ts";

/** What MCP has besides tasks: what the official SDK offers to servers and clients, and how their connection begins. */
// One requirement per line, as in a table.
// prettier-ignore
export const baseSdk: readonly Requirement[] = [
  // 1. The server
  { id: "B-001", level: "IMPLIED", who: "server", text: "A server is made of a name and a version, and takes care of connections, the protocol and routing." },
  { id: "B-002", level: "IMPLIED", who: "server", text: "Connecting binds a server to a transport, whose close ends the connection and is told by onclose." },
  { id: "B-003", level: "IMPLIED", who: "server", text: "Requests that come at once under the same id get each its own answer." },
  { id: "B-004", level: "IMPLIED", who: "server", text: "Tools, resources and prompts are registered with a title and a description, which the lists show." },
  { id: "B-005", level: "IMPLIED", who: "both", text: "Schemas are made with the author's own zod, of 3.25 or of 4, by their fields or as objects." },
  { id: "B-006", level: "IMPLIED", who: "both", text: "The source runs on Node 18, with a polyfill of Web Crypto." },
  { id: "B-007", level: "IMPLIED", who: "server", text: "Declares the capabilities that follow from what is registered." },
  { id: "B-008", level: "IMPLIED", who: "server", text: "The model calls tools, the application reads resources, the user picks prompts." },
  // 2. Tools
  { id: "B-009", level: "IMPLIED", who: "server", text: "A tool is registered with title, description, schemas, annotations and how it takes tasks; the list has JSON Schema made of the schemas." },
  { id: "B-010", level: "IMPLIED", who: "server", text: "Arguments that do not fit the input schema are an error, and do not reach the handler." },
  { id: "B-011", level: "IMPLIED", who: "server", text: "A tool with an output schema returns structured content, which is checked against it." },
  { id: "B-012", level: "IMPLIED", who: "server", text: "Handlers may be asynchronous, use the network, and return links to resources." },
  { id: "B-013", level: "IMPLIED", who: "server", text: "A tool can say that it failed by a result with isError." },
  { id: "B-014", level: "IMPLIED", who: "client", text: "A tool is shown by its title, then by the title in its annotations, then by its name." },
  // 3. Resources and templates
  { id: "B-015", level: "IMPLIED", who: "server", text: "A resource has a fixed URI, and contents of text or of bytes." },
  { id: "B-016", level: "IMPLIED", who: "server", text: "A resource by a template gets the variables of the URI that is read." },
  { id: "B-017", level: "IMPLIED", who: "server", text: "A template may list its resources among the others, or none." },
  { id: "B-018", level: "IMPLIED", who: "server", text: "Variables of templates are completed by callbacks, which see those that are filled in." },
  { id: "B-019", level: "IMPLIED", who: "server", text: "Resources are listed with title, description and mimeType." },
  // 4. Prompts and completions
  { id: "B-020", level: "IMPLIED", who: "server", text: "A prompt has title, description and arguments, and gives messages." },
  { id: "B-021", level: "IMPLIED", who: "server", text: "Arguments of prompts are checked by their schema; what does not fit is -32602." },
  { id: "B-022", level: "IMPLIED", who: "server", text: "Arguments of prompts are completed by callbacks, which see those that are filled in." },
  { id: "B-023", level: "IMPLIED", who: "client", text: "Asks for completions of arguments of prompts and of variables of templates." },
  // 5. Sampling, elicitation, logging
  { id: "B-024", level: "IMPLIED", who: "server", text: "A handler asks the model of a client that declares sampling, and no other client." },
  { id: "B-025", level: "IMPLIED", who: "server", text: "A handler asks the user by a form or sends him to a URL, in the modes that the client declares." },
  { id: "B-026", level: "SHAPE", who: "client", text: "Declares elicitation with form and url, and answers with accept and content, with decline, or with cancel." },
  { id: "B-027", level: "IMPLIED", who: "both", text: "The server tells the client structured log messages from the level on that the client wants." },
  { id: "B-028", level: "IMPLIED", who: "both", text: "All lists can come in pages, with a cursor for the next one." },
  { id: "B-029", level: "IMPLIED", who: "server", text: "In the SDK's first generation, tasks for long operations are marked as experimental by their namespace." },
  // 6. Changes, debouncing and the low level
  { id: "B-030", level: "IMPLIED", who: "server", text: "Tools, resources and prompts are added, updated, disabled, enabled and removed while clients are connected, who are told of each change." },
  { id: "B-031", level: "IMPLIED", who: "server", text: "What is disabled is not listed, and cannot be used." },
  { id: "B-032", level: "IMPLIED", who: "server", text: "Debouncing makes one message of repeats of a notification, for methods that are named." },
  { id: "B-033", level: "IMPLIED", who: "server", text: "A notification that has params or belongs to a request is never debounced." },
  { id: "B-034", level: "IMPLIED", who: "server", text: "A low-level server has raw handlers by method and schema, and declares its capabilities itself." },
  { id: "B-035", level: "IMPLIED", who: "server", text: "A low-level server refuses handlers and notifications that its capabilities do not cover." },
  // 7. The client
  { id: "B-036", level: "IMPLIED", who: "client", text: "Lists and calls tools, lists and reads resources and templates, lists and gets prompts, completes, and answers sampling, elicitation and roots." },
  { id: "B-037", level: "IMPLIED", who: "client", text: "Logs in to protected servers by OAuth: discovery, registration, a code with PKCE, renewal, and tokens that a provider stores." },
  { id: "B-041", level: "IMPLIED", who: "both", text: "A host has several clients in one process, each with a state of its own." },
  // 8. Messages and the lifecycle
  { id: "B-042", level: "MUST", who: "both", text: "Messages are JSON-RPC 2.0 in UTF-8." },
  { id: "B-043", level: "IMPLIED", who: "both", text: "A handshake settles version and capabilities, the client says that it is initialized, and normal requests follow." },
  { id: "B-044", level: "MUST", who: "client", text: "Begins with initialize, which has its version, capabilities and name." },
  { id: "B-045", level: "MUST", who: "server", text: "Answers with its version, capabilities and name." },
  { id: "B-046", level: "MUST", who: "server", text: "Answers a version that it does not speak with one that it does; a client that does not speak that one disconnects." },
  { id: "B-047", level: "SHOULD", who: "client", text: "Supports stdio." },
  { id: "B-048", level: "MAY", who: "both", text: "Messages may go over transports that others have made." },
  { id: "B-049", level: "MUST", who: "both", text: "Such transports keep the form of JSON-RPC and the lifecycle." },
  { id: "B-050", level: "SHOULD", who: "both", text: "How such transports connect and exchange messages is documented." },
  // 12. Clients and servers of 2024-11-05
  { id: "B-038", level: "IMPLIED", who: "server", text: "Forwards logins, tokens, revocations and registrations to an authorization server behind it; callbacks check tokens and know clients." },
  { id: "B-039", level: "IMPLIED", who: "client", text: "Speaks HTTP+SSE to servers that have no Streamable HTTP." },
  { id: "B-040", level: "IMPLIED", who: "server", text: "Has HTTP+SSE for old clients, beside the endpoint of Streamable HTTP." },
  { id: "B-116", level: "IMPLIED", who: "server", text: "Hosts the stream and the URL for messages of old clients beside its endpoint." },
  { id: "B-117", level: "IMPLIED", who: "client", text: "Posts initialize, and where that gets 400, 404 or 405 asks by GET for a stream that begins with an endpoint event." },
  { id: "B-118", level: "SHAPE", who: "server", text: "The stream begins with an endpoint event that has the URL for messages, and goes on with message events." },
];
