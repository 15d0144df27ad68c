import type { FastifyReply, FastifyRequest } from 'fastify';

/** A cookie of the service's own, which no script reads, and which other sites send by links alone. */
export interface Cookie {
  /** What the request has; undefined where it has none, or several, of which nobody knows which is ours. */
  read(request: FastifyRequest): string | undefined;
  /** All that the request has of that name, each once. */
  all(request: FastifyRequest): readonly string[];
  /** Whether the request has anything of that name. */
  isSent(request: FastifyRequest): boolean;
  /** Has the browser keep a value for so many seconds. */
  keep(request: FastifyRequest, reply: FastifyReply, value: string, seconds: number): void;
  /** Has the browser forget it. */
  forget(request: FastifyRequest, reply: FastifyReply): void;
}

/**
 * By HTTPS the name begins with `__Host-`, so that no other host can set it (RFC 6265bis, section 4.1.3.2), and the
 * browser never sends it in the clear.
 */
export function createCookie(name: string, publicUrl: string | undefined): Cookie {
  const known = publicUrl === undefined ? undefined : new URL(publicUrl);
  // A proxy that ends HTTPS and is not trusted does not make the request one by HTTPS, but it is for the same host.
  const isSecure = ({ protocol, host }: FastifyRequest) =>
    protocol === 'https' || (known?.protocol === 'https:' && known.host === host);
  const nameFor = (request: FastifyRequest) => (isSecure(request) ? `__Host-${name}` : name);
  const set = (request: FastifyRequest, reply: FastifyReply, value: string, seconds: number) => {
    const secure = isSecure(request) ? '; Secure' : '';
    reply.header(
      'set-cookie',
      `${nameFor(request)}=${value}; Max-Age=${seconds}; Path=/; HttpOnly${secure}; SameSite=Lax`,
    );
  };
  return {
    read(request) {
      const [value, ...others] = valuesOf(request, nameFor(request));
      return others.length === 0 ? value : undefined;
    },
    all: (request) => [...new Set(valuesOf(request, nameFor(request)))],
    isSent: (request) => valuesOf(request, nameFor(request)).length > 0,
    keep: set,
    forget: (request, reply) => set(request, reply, '', 0),
  };
}

function valuesOf({ headers }: FastifyRequest, name: string): string[] {
  return (headers.cookie ?? '').split(';').flatMap((pair) => {
    const equals = pair.indexOf('=');
    return pair.slice(0, equals).trim() === name && equals !== -1 ? [pair.slice(equals + 1).trim()] : [];
  });
}
