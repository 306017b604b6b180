import { adminToken, type AuthenticateOperator } from "holdfast/http";

/** With what the operators log in whom the servers of these tests know. */
export const tokens = { write: "token-of-ann-who-may-act", read: "token-of-ravi-who-looks" } as const;

const ann = adminToken(tokens.write, "ann");
const ravi = adminToken(tokens.read, "ravi");

export const operators: AuthenticateOperator = async (request) => {
  const looks = await ravi(request);
  return looks === undefined ? ann(request) : { ...looks, role: "read" };
};
