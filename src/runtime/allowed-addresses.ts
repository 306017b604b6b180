import { lookup as systemLookup, type LookupAddress } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = [Address, number];

/** Allowed targets outside the public internet. */
export interface AllowedAddresses {
  readonly ranges: readonly Range[];
  /** In lower case. */
  readonly hosts: ReadonlySet<string>;
}

/** Finds all addresses of a name. */
export type Resolve = (
  host: string,
  done: (error: NodeJS.ErrnoException | null, addresses?: readonly LookupAddress[]) => void,
) => void;

const hostName = /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/i;

/** Whether it is a range, an address or a host name. */
export function isAllowable(given: string): boolean {
  return rangeOf(given) !== undefined || hostName.test(given);
}

/** Ranges, addresses and host names. */
export function allowedAddresses(given: readonly string[]): AllowedAddresses {
  const ranges = given.map(rangeOf).filter((range) => range !== undefined);
  const hosts = given.filter((each) => rangeOf(each) === undefined).map((host) => host.toLowerCase());
  return { ranges, hosts: new Set(hosts) };
}

function rangeOf(text: string): Range | undefined {
  if (isIP(text) !== 0) {
    const address = ipaddr.process(text);
    return [address, address.kind() === "ipv4" ? 32 : 128];
  }
  const isRange = isIP(text.slice(0, Math.max(0, text.indexOf("/")))) !== 0;
  try {
    return isRange ? ipaddr.parseCIDR(text) : undefined;
  } catch {
    return undefined; // its length is none
  }
}

/** A name leads to an address that may not be reached. */
export class RefusedAddress extends Error {
  override readonly name = "RefusedAddress";
}

/** Why a URL's host is refused, if it is an address. `URL` normalizes every notation. */
export function refusalOfHost(hostname: string, allowed: AllowedAddresses): string | undefined {
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  if (isIP(host) === 0 || mayReach(host, allowed)) return undefined;
  return notPublic(host);
}

/**
 * The `lookup` of connections: resolves a name once, checks all of its addresses, and connects to one of them, so that a second answer of a
 * name server cannot differ.
 */
export function checkedLookup(allowed: AllowedAddresses, resolve: Resolve = resolveAll): LookupFunction {
  return (host, options, done) => {
    // The system gives no list with an error, whatever its type says.
    resolve(host, (error, addresses = []) => {
      const [first] = addresses;
      if (error !== null || first === undefined) {
        done(error ?? new Error(`${host} has no address`), "");
        return;
      }
      const isNamed = allowed.hosts.has(host.toLowerCase());
      const refused = isNamed ? undefined : addresses.find(({ address }) => !mayReach(address, allowed));
      if (refused !== undefined) done(new RefusedAddress(notPublic(refused.address)), "");
      else if (options.all === true) done(null, [...addresses]);
      else done(null, first.address, first.family);
    });
  };
}

const resolveAll: Resolve = (host, done) => systemLookup(host, { all: true, order: "verbatim" }, done);

/** Only addresses of the public internet, and those that are allowed explicitly. */
function mayReach(text: string, { ranges }: AllowedAddresses): boolean {
  if (isIP(text) === 0) return false;
  // A zone (fe80::1%eth0) is never of a public address.
  const address = ipaddr.process(text.replace(/%.*$/, ""));
  return ranges.some((range) => isIn(address, range)) || isPublic(address);
}

const globalUnicast: Range = ipaddr.parseCIDR("2000::/3");

/** Public by its number, but what answers there is the host of the virtual machine: Azure's metadata and agents. */
const hosts: ReadonlySet<string> = new Set(["168.63.129.16"]);

function isPublic(address: Address): boolean {
  if (hosts.has(address.toString())) return false;
  if (address.range() !== "unicast") return false;
  return address instanceof ipaddr.IPv4 || isIn(address, globalUnicast);
}

function isIn(address: Address, [range, bits]: Range): boolean {
  if (address instanceof ipaddr.IPv4) return range instanceof ipaddr.IPv4 && address.match(range, bits);
  return range instanceof ipaddr.IPv6 && address.match(range, bits);
}

function notPublic(address: string): string {
  return `${address} is not a public internet address`;
}
