import { BlockList, isIPv6 } from 'node:net';
import type { Limits } from './limits.ts';

/** What the name stands for in the framework, which is given the same list. */
const LOOPBACK = ['127.0.0.0/8', '::1'];

/** Whether the address of a connection is that of a proxy that is trusted. */
export function trustedPeers(trustProxy: Limits['trustProxy']): (address: string) => boolean {
  if (trustProxy === false) return () => false;
  const list = new BlockList();
  for (const network of trustProxy.flatMap((given) => (given === 'loopback' ? LOOPBACK : [given]))) {
    const [address = '', bits] = network.split('/');
    if (bits === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(bits), familyOf(address));
  }
  return (address) => list.check(address, familyOf(address));
}

const familyOf = (address: string) => (isIPv6(address) ? 'ipv6' : 'ipv4');
