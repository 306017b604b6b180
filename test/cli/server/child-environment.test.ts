import { expect, it } from "vitest";
import { typedEnvironment } from "../../../src/cli/server/host-config.ts";

const env = {
  PATH: "/bin",
  EMPTY: "",
  UNSET: undefined,
  HOLDFAST_TOKEN: "s3cret",
  HOLDFAST_STATE: "/state",
  HOLDFAST_STORE: "s3cret",
  HOLDFAST_ADMIN_TOKEN: "",
  HOLDFAST_SOMETHING_NEW: "s3cret",
  Holdfast_Webhook_Secret: "s3cret",
};

it("gives a typed command line none of our variables, and names those that it could have read", () => {
  expect(typedEnvironment(env)).toEqual({
    env: { PATH: "/bin", EMPTY: "" },
    withheld: ["HOLDFAST_STORE", "HOLDFAST_SOMETHING_NEW", "Holdfast_Webhook_Secret"],
  });
});

it("passes those that the user names", () => {
  expect(typedEnvironment(env, ["HOLDFAST_STORE", "holdfast_webhook_secret"])).toEqual({
    env: { PATH: "/bin", EMPTY: "", HOLDFAST_STORE: "s3cret", Holdfast_Webhook_Secret: "s3cret" },
    withheld: ["HOLDFAST_SOMETHING_NEW"],
  });
});
