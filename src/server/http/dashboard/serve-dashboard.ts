import type { Admin } from "../../../admin/operations.ts";
import { defaultSettings } from "../../../runtime/options.ts";
import type { OnError } from "../../faults.ts";
import type { Operator } from "../operator-options.ts";
import { adminToken, operatorEndpoint } from "../operator-endpoint.ts";
import { httpSettings } from "../http-options.ts";
import { isLoopback, listen, urlOf } from "../listen.ts";
import { createNodeServer } from "../serve-http.ts";
import { DashboardRequests } from "./dashboard.ts";

/** A dashboard for one operator, apart from any server. */
export interface OwnDashboard {
  readonly admin: Admin;
  readonly operator: Operator;
  /** Anyone who has it is the operator. */
  readonly token: string;
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly path: string;
  readonly onError: OnError;
}

export interface ServedDashboard {
  /** Opens the page, and logs in. */
  readonly link: string;
  /** Ends what is under way, and frees the port. */
  close(): Promise<void>;
}

/** Serves a dashboard until it is closed. Rejects with `configuration` and `address_in_use`. */
export async function serveDashboard(own: OwnDashboard): Promise<ServedDashboard> {
  const { admin, operator, token, host, port, path, onError } = own;
  const shown = { admin, options: defaultSettings, onError, events: undefined, linksLogIn: true };
  const requests = new DashboardRequests(shown, {
    path,
    authenticate: adminToken(token, operator),
    // Under which names others reach this machine is not known.
    ...(!isLoopback(host) && { allowedHosts: "any" as const }),
  });
  const node = await createNodeServer(httpSettings({}), operatorEndpoint(requests, onError));
  const bound = await listen(node, host, port);
  node.on("error", onError);
  return {
    link: `${urlOf(host, bound, path)}/login?token=${encodeURIComponent(token)}`,
    close: async () => {
      const closed = new Promise<void>((resolve) => node.close(() => resolve()));
      requests.close();
      node.closeAllConnections();
      await closed;
    },
  };
}
