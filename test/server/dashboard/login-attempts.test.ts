import { expect, it } from "vitest";
import { LoginAttempts } from "../../../src/server/http/dashboard/login.ts";

function attemptsAt(): { attempts: LoginAttempts; passing: (ms: number) => void } {
  let now = 1_000;
  return { attempts: new LoginAttempts(() => now), passing: (ms) => (now += ms) };
}

it("lets each address try ten times a minute", () => {
  const { attempts, passing } = attemptsAt();
  for (let count = 0; count < 10; count++) expect(attempts.begin("a")).toBe(0);
  passing(20_000);
  expect(attempts.begin("a")).toBe(40_000);
  expect(attempts.begin("b")).toBe(0);
  passing(40_000);
  expect(attempts.begin("a")).toBe(0);
});

it("forgets what was wrong where somebody has logged in", () => {
  const { attempts } = attemptsAt();
  for (let count = 0; count < 10; count++) attempts.begin("a");
  attempts.succeeded("a");
  for (let count = 0; count < 10; count++) expect(attempts.begin("a")).toBe(0);
});

it("remembers so many addresses and no more", () => {
  const { attempts } = attemptsAt();
  for (let count = 0; count < 11; count++) attempts.begin("first");
  for (let count = 0; count < 10_000; count++) attempts.begin(`${count}`);
  expect(attempts.begin("first")).toBe(0);
});
