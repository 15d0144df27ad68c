import { BlockList, isIP } from 'node:net';

/** Decides which addresses webhooks may reach. */
export interface AddressPolicy {
  /** Returns whether an address is in a network that the operator allows. Requests to it may use `http:`. */
  isAllowedPrivate(address: string): boolean;
  /** Returns whether an address is on the public internet, or in a network that the operator allows. */
  isReachable(address: string): boolean;
  /** Whether the operator allows any network. */
  readonly allowsPrivate: boolean;
}

/** Creates the policy. `allowed` has addresses, networks such as `10.0.0.0/8`, and `loopback`. */
export function createAddressPolicy(allowed: readonly string[]): AddressPolicy {
  const networks = toBlockList(allowed.flatMap((entry) => (entry === 'loopback' ? LOOPBACK : [entry])));
  const isAllowedPrivate = (address: string) => isInside(networks, address);
  return {
    allowsPrivate: allowed.length > 0,
    isAllowedPrivate,
    isReachable: (address) => isAllowedPrivate(address) || isPublic(address),
  };
}

const LOOPBACK = ['127.0.0.0/8', '::1'];

/** IPv4 networks that are not globally reachable (IANA IPv4 Special-Purpose Address Registry), multicast and reserved ones. */
const SPECIAL_IPV4 = toBlockList([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]);

/**
 * The only IPv6 addresses on the public internet (RFC 4291, section 2.4). Loopback, link-local, unique-local and multicast
 * addresses are outside, and so are those that contain an IPv4 address: IPv4-mapped and NAT64.
 */
const GLOBAL_UNICAST = toBlockList(['2000::/3']);

/** Exceptions (IANA IPv6 Special-Purpose Address Registry): protocols including Teredo, documentation, 6to4. */
const SPECIAL_IPV6 = toBlockList(['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']);

function isPublic(address: string): boolean {
  if (isIP(address) === 4) return !isInside(SPECIAL_IPV4, address);
  return isInside(GLOBAL_UNICAST, address) && !isInside(SPECIAL_IPV6, address);
}

function toBlockList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}

/** An address of no family, such as one with a zone that does not exist, is in no network. */
function isInside(networks: BlockList, address: string): boolean {
  const version = isIP(address);
  return version !== 0 && networks.check(address, version === 6 ? 'ipv6' : 'ipv4');
}
