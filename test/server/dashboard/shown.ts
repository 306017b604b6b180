import type { DashboardEndpointOptions, HttpOptions } from "holdfast/http";
import { operated, type Operated, type OperatedSetup } from "../admin/operated.ts";
import { Browser } from "./browser.ts";

export interface ShownServer extends Operated {
  readonly browser: Browser;
}

/** A server with a dashboard beside its endpoint of operators, and a browser that nobody has logged in with. */
export async function shown({
  dashboard = {},
  http,
  ...setup
}: Omit<OperatedSetup, "http"> & {
  dashboard?: DashboardEndpointOptions;
  http?: HttpOptions;
} = {}): Promise<ShownServer> {
  const server = await operated({ ...setup, http: { dashboard, ...http } });
  return { ...server, browser: new Browser(server.origin) };
}
