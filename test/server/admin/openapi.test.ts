import { DatabaseSync } from "node:sqlite";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import type { Tasks } from "holdfast";
import { sqliteStore } from "holdfast/sqlite";
import type { TaskStore } from "holdfast/store";
import { expect, it, onTestFinished } from "vitest";
import { routes } from "../../../src/admin/endpoint.ts";
import { createQueued } from "../../../src/testing/sample-task.ts";
import { databasePath, operated, type Asked, type Asking, type Operated } from "./operated.ts";

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: object;
  readonly responses: Readonly<Record<string, { readonly content?: object }>>;
}

interface Document {
  readonly openapi: string;
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

async function documentOf({ ask }: Operated): Promise<Document> {
  const { status, body } = await ask("GET", "/openapi.json");
  expect(status).toBe(200);
  return body as Document;
}

/** All that the document has, each by its method and path. */
function operationsOf({ paths }: Document) {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      route: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path,
      operation,
      statuses: Object.keys(operation.responses).filter((status) => status !== "default"),
    })),
  );
}

/** Answers may have nothing that the document does not say. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== "object" || value === null) return value;
  const inside = Object.fromEntries(Object.entries(value).map(([name, part]) => [name, closed(part)]));
  return inside["type"] === undefined || inside["properties"] === undefined
    ? inside
    : { ...inside, additionalProperties: false };
}

/** What is wrong with an answer by a part of the document, named by its place. */
function faultsBy(document: Document): (answer: unknown, place: readonly string[]) => unknown {
  const ajv = new Ajv2020({ strict: true, strictTypes: false, allErrors: true });
  ajv.addVocabulary(["openapi", "info", "servers", "security", "paths", "components"]);
  ajv.addSchema(closed(document) as object, "document");
  return (answer, place) => {
    const pointer = place.map((name) => encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1")));
    const check: ValidateFunction | undefined = ajv.getSchema(`document#/${pointer.join("/")}`);
    if (check === undefined) throw new Error(`The document has nothing at ${place.join(" ")}.`);
    return check(answer) === true ? [] : check.errors;
  };
}

it("describes the routes that there are, and nothing else", async () => {
  const document = await documentOf(await operated());
  expect(document.openapi).toBe("3.1.0");
  expect(document.servers).toEqual([{ url: "/admin" }]);
  const operations = operationsOf(document);
  const served = [...routes.map(({ method, path }) => `${method} ${path}`), "GET /openapi.json"];
  expect(operations.map(({ route }) => route).toSorted()).toEqual(served.toSorted());
  expect(new Set(operations.map(({ operation }) => operation.operationId)).size).toBe(operations.length);
  for (const { route, path, method, operation } of operations) {
    const { parameters = [], requestBody, responses } = operation;
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    expect(parameters.filter((each) => each.in === "path").map(({ name }) => name)).toEqual(named);
    expect([route, requestBody !== undefined]).toEqual([route, method === "POST"]);
    for (const [status, { content }] of Object.entries(responses))
      expect([route, status, content !== undefined]).toEqual([route, status, status !== "204"]);
  }
  const used = [...JSON.stringify(document).matchAll(/#\/components\/schemas\/(\w+)/g)];
  const schemas = Object.keys(document.components.schemas);
  expect([...new Set(used.map(([, name = ""]) => name))].toSorted()).toEqual(schemas.toSorted());
});

/** A request for which a route answers with one of the statuses that the document has of it. */
interface Exercise {
  readonly method: string;
  readonly path: string;
  readonly status: string;
  /** The path with names in it. */
  readonly at: string;
  readonly asking: Asking;
}

const unknownJob = { action: "cancel", selection: {}, options: { job: "none" } };

/** One that was previewed, one that goes on and one that is over. */
async function bulkJobs({ admin }: Tasks, store: TaskStore) {
  const ann = admin.as("ann");
  const selected = async (): Promise<string> =>
    (await ann.bulk("cancel", { tool: "gone" }, { dryRun: true })).job;
  const underWay = await selected();
  await store.write({ type: "start_bulk", now: Date.now(), id: underWay });
  const hold = async (): Promise<unknown> =>
    store.write({ type: "hold_bulk", now: Date.now(), id: underWay, until: Date.now() + 10_000 });
  await hold();
  const holding = setInterval(() => void hold().catch(() => undefined), 1_000); // as if it took long
  onTestFinished(() => clearInterval(holding));
  return { job: await selected(), underWay, over: (await ann.bulk("cancel", { tool: "nothing" })).job };
}

/** A task whose tool nobody has. */
async function blockedTask(store: TaskStore): Promise<string> {
  const now = Date.now();
  const expiry = { from: "terminal", ms: 3_600_000 } as const;
  const { task, ...rest } = createQueued("blocked", { tool: "lost", expiry });
  await store.write({ ...rest, task, now });
  const block = { reason: "tool", problem: "No.", key: null, was: null, is: null, version: null } as const;
  const until = now + 3_600_000;
  await store.write({ type: "orphan", now, id: task.id, until, block: { ...block, deploy: null } });
  return task.id;
}

const bodies: Readonly<Record<string, object>> = {
  "/tasks/{id}/answer": { answers: { go: { action: "accept", content: {} } } },
  "/tasks/{id}/extend": { until: null },
  "/nodes/{node}/drain": { undo: true },
  "/bulk": { action: "cancel", selection: { tool: "none" } },
};

it("answers with each status that the document has of a route, in the form that it says", async () => {
  const path = await databasePath();
  const store = sqliteStore(path);
  const server = await operated({ store, options: { maxBodyBytes: 1_000 } });
  const document = await documentOf(server);
  const { peer, ended, tasks, ask } = server;
  const asking = async (): Promise<string> => {
    const id = await peer.start("asks");
    await peer.until(id, "input_required");
    return id;
  };
  tasks.tool("stores", {}, async (_, task) => ({ content: [await task.artifact("notes.txt", "é")] }));
  const stored = await ended("stores");
  const [failed, finished, damaged] = [await ended("fails"), await ended("ok"), await ended("ok")];
  const [open, answered, cancelled] = [await asking(), await asking(), await asking()];
  const { job, underWay, over } = await bulkJobs(tasks, store);
  const database = new DatabaseSync(path, { timeout: 20_000 });
  database.prepare("UPDATE task SET progress = '{' WHERE id = ?").run(damaged);
  database.close();
  const [node] = await tasks.admin.nodes();
  const done: Readonly<Record<string, string>> = {
    "POST /nodes/{node}/drain": node?.id ?? "",
    "GET /tasks/{id}": open,
    "GET /tasks/{id}/timeline": open,
    "GET /tasks/{id}/artifacts/{name}": stored,
    "POST /tasks/{id}/cancel": cancelled,
    "POST /tasks/{id}/answer": answered,
    "POST /tasks/{id}/retry": failed,
    "POST /tasks/{id}/extend": failed,
    "POST /tasks/{id}/unblock": await blockedTask(store),
    "POST /incidents/{cause}": "c0123456789abcdef",
    "DELETE /tasks/{id}": finished,
    "GET /bulk/{id}": job,
    "POST /bulk/{id}/cancel": underWay,
  };
  const conflicts: Readonly<Record<string, string>> = {
    "POST /tasks/{id}/cancel": finished,
    "POST /tasks/{id}/answer": finished,
    "POST /tasks/{id}/retry": open,
    "POST /tasks/{id}/unblock": open,
    "DELETE /tasks/{id}": open,
    "POST /bulk/{id}/cancel": over,
  };
  const faultsIn = faultsBy(document);
  const operations = operationsOf(document);
  const seen: string[] = [];
  const check = ({ method, path: template, status }: Exercise, asked: Asked): void => {
    const told = [method, template, asked.status, asked.body];
    expect(told).toEqual([method, template, Number(status), asked.body]);
    seen.push(`${method} ${template} ${status}`);
    const place = ["paths", template, method.toLowerCase(), "responses", status];
    const isStream = template === "/changes" && status === "200";
    const schema = isStream
      ? ["components", "schemas", "TaskChanges"]
      : [...place, "content", "application/json", "schema"];
    const faults = status === "204" ? asked.body : faultsIn(asked.body, schema);
    expect([...told, faults]).toEqual([...told, status === "204" ? undefined : []]);
  };
  const exercises = operations.flatMap(({ route, method, path: template, statuses }): Exercise[] => {
    const at = (name = "fails"): string => template.replace(/\{\w+\}/, name).replace("{name}", "notes.txt");
    const usual = at(done[route]);
    const body = method === "POST" ? (bodies[template] ?? {}) : undefined;
    const by: Readonly<Record<string, Partial<Exercise>>> = {
      "400": { at: `${usual}?no=such` },
      "401": { asking: { token: null, body } },
      "403": { asking: { token: "token-of-ann", headers: { Origin: "https://evil.example" }, body } },
      "404": template === "/bulk" ? { asking: { body: unknownJob } } : { at: at("none") },
      "409": { at: at(conflicts[route]) },
      "413": { asking: { body: { text: "x".repeat(70_000) } } },
      "415": { asking: { body, headers: { "Content-Type": "text/plain" } } },
      "500": { at: at(damaged) },
    };
    const usually = { method, path: template, at: usual, asking: { body } };
    return statuses.map((status) => ({ ...usually, status, ...by[status] }));
  });
  // Refusals first: they change nothing. Once the tasks have stopped, nothing else can be asked.
  const inOrder = exercises.toSorted((a, b) => Number(b.status) - Number(a.status));
  for (const exercise of inOrder.filter(({ status }) => status !== "503"))
    check(exercise, await ask(exercise.method, exercise.at, exercise.asking));
  await tasks.stop();
  for (const exercise of inOrder.filter(({ status }) => status === "503"))
    check(exercise, await ask(exercise.method, exercise.at, exercise.asking));
  expect(seen.toSorted()).toEqual(
    operations.flatMap(({ route, statuses }) => statuses.map((status) => `${route} ${status}`)).toSorted(),
  );
});
