/**
 * Whether a host is this machine for itself, which no other can be: `localhost` and what is below it (RFC 6761, section
 * 6.3), and the loopback addresses, of IPv6 in brackets or without. `host` has no port.
 */
export function isLoopback(host: string): boolean {
  // Asked three times of each request, and nearly always about these.
  if (host === '127.0.0.1' || host === 'localhost') return true;
  const plain = host.replace(/^\[(.*)\]$/, '$1').replace(/^::ffff:/i, '');
  return /^(?:(?:[a-z0-9-]+\.)*localhost|127(?:\.\d{1,3}){3}|::1)$/i.test(plain);
}
