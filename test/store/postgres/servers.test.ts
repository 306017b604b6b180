import { expect, test } from "vitest";
import { isPostgresUrl } from "../../../src/store/postgres/options.ts";
import { Servers, serversOf, takeParameter, withDatabase } from "../../../src/store/postgres/work-sharing.ts";

const url = "postgres://ann:p%40ss@db-1,db-2:5433/app?sslmode=require";

test("a URL names one server or several, each with what the others have", () => {
  expect(serversOf(url)).toEqual([
    "postgres://ann:p%40ss@db-1/app?sslmode=require",
    "postgres://ann:p%40ss@db-2:5433/app?sslmode=require",
  ]);
  expect(serversOf("postgres://db-1/app")).toEqual(["postgres://db-1/app"]);
  const password = "my@secret,1"; // as the driver takes it
  expect(serversOf(`postgres://ann:${password}@db-1,db-2/app`)).toEqual([
    `postgres://ann:${password}@db-1/app`,
    `postgres://ann:${password}@db-2/app`,
  ]);
  expect([url, "postgres://db-1:1,db-2:2/app"].every(isPostgresUrl)).toBe(true);
  expect(isPostgresUrl("postgres://db-1:x,db-2/app")).toBe(false);
});

test("its other parts are taken and changed for all servers", () => {
  expect(withDatabase(url, "a b")).toBe("postgres://ann:p%40ss@db-1,db-2:5433/a%20b?sslmode=require");
  expect(withDatabase("postgres://db-1", "app")).toBe("postgres://db-1/app");
  expect(takeParameter(`${url}&schema=mine`, "schema")).toEqual({ url, value: "mine" });
  expect(takeParameter("postgres://db-1/app?schema=mine", "schema")).toEqual({
    url: "postgres://db-1/app",
    value: "mine",
  });
  expect(takeParameter(url, "schema")).toEqual({ url });
});

test("each server is tried once, beginning with the last one that worked", async () => {
  const servers = new Servers("postgres://a,b,c/app");
  const tried: string[] = [];
  const only = (host: string) => async (each: string) => {
    tried.push(new URL(each).hostname);
    if (new URL(each).hostname !== host) throw new Error(each);
  };
  await servers.each(only("b"));
  await servers.each(only("b"));
  await expect(servers.each(only("none"))).rejects.toThrow();
  expect(tried).toEqual(["a", "b", "b", "b", "c", "a"]);
});
