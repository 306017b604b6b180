import { expect, test } from "vitest";
import {
  resolveWebhooks,
  secretKey,
  signatures,
  type WebhookOptions,
} from "../../src/runtime/webhooks/webhook-options.ts";
import { createTasks } from "../../src/server/tasks.ts";
import { memoryStore } from "../../src/store/sqlite/memory-store.ts";
import { secret } from "./hooked-process.ts";

const good: WebhookOptions = { name: "main", url: "https://hooks.example/in", secret };

test.each<[string, object, RegExp]>([
  ["a name", { name: "a b" }, /name must be 1 to 32 letters/],
  ["a url of http", { url: "http://hooks.example" }, /must begin with https/],
  ["another scheme", { url: "file:///etc/passwd", allowHttp: true }, /https:\/\/ or http:\/\//],
  ["no url", { url: "hooks" }, /url must be an "https:\/\/" URL\./],
  ["a password", { url: "https://a:b@hooks.example" }, /must not contain a user, a password or a fragment/],
  ["a private address", { url: "https://10.0.0.1" }, /10\.0\.0\.1 is not a public internet address/],
  ["a short secret", { secret: "whsec_c2hvcnQ=" }, /24 to 64 bytes in base64/],
  ["a secret of another form", { secret: "topsecretvalue" }, /24 to 64 bytes in base64/],
  ["no secret", { secret: [] }, /secret must be "whsec_"/],
  [
    "an event",
    { events: ["task.done"] },
    /events must be one or more of "task\.created", .*not \["task\.done"\]/,
  ],
  ["a number", { concurrency: 0 }, /concurrency must be a whole number from 1 to 100, not 0/],
  ["a time limit", { timeoutMs: 1 }, /timeoutMs must be/],
  ["a range of another form", { allowPrivate: ["10.0.0.0/40"] }, /allowPrivate must be addresses/],
  ["an option that is none", { uri: "x" }, /has no option "uri"/],
])("refuses %s that could not work, without showing a secret", (_, wrong, message) => {
  const resolve = (): unknown => resolveWebhooks([{ ...good, ...wrong }]);
  expect(resolve).toThrow(
    expect.objectContaining({ code: "configuration", message: expect.stringMatching(message) }),
  );
  expect(resolve).not.toThrow(/topsecret|c2hvcnQ|hooks\.example/);
});

test("refuses two of the same name, and a store that keeps nothing for them", () => {
  expect(() => resolveWebhooks([good, good])).toThrow("Two webhooks have the name main.");
  const store = new Proxy(memoryStore(), {
    get: (target, name) => (name === "outbox" ? undefined : (Reflect.get(target, name) as unknown)),
  });
  expect(() => createTasks({ store, webhooks: [good] })).toThrow(/TaskStore.outbox/);
});

test("signs as Standard Webhooks say", () => {
  const key = secretKey("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  const message = {
    id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
    timestamp: 1_614_265_330,
    body: '{"test": 2432232314}',
  };
  expect(signatures([key], message)).toBe("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
});
