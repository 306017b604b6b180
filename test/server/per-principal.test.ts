import { expect, it } from "vitest";
import { isPrincipal, shareOf } from "../../src/server/limits.ts";

it("tells callers without a principal apart by their addresses, where something is shared", () => {
  const of = (address?: string) => shareOf({ principal: null, address });
  expect(of("10.0.0.1")).not.toBe(of("10.0.0.2"));
  expect(of("::ffff:10.0.0.1")).not.toBe(of("::ffff:10.0.0.2"));
  expect(of("2001:db8:1:2::3")).toBe(of("2001:db8:1:2:9::4"));
  expect(of("2001:db8:1:2::3")).not.toBe(of("2001:db8:1:3::3"));
  expect(of("2001:db8::1:2:3:4")).toBe(of("2001:db8::5:6:7:8"));
  expect(of("2001:db8::1")).toBe(of("2001:db8::2"));
  expect(of("2001:db8::1")).not.toBe(of("2001:db9::1"));
  expect(of("fe80::1%eth0")).toBe(of("fe80::2%eth0"));
  expect(of("::1")).toBe(of("0:0:0:0:0:0:0:1"));
  expect(of()).toBe(null);
  expect(shareOf({ principal: "ann", address: "10.0.0.1" })).toBe("ann");
  expect([of("10.0.0.1"), of(), "ann"].map(isPrincipal)).toEqual([false, false, true]);
});
