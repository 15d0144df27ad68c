import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An issuer of tokens on this machine: serves its discovery document and its keys. */
export interface KeyServer {
  readonly issuer: string;
  readonly jwksUrl: string;
  /** The requested paths so far. */
  readonly requested: readonly string[];
  /** Sets the response of a path: an object is sent as JSON, a number is a status without a body. */
  setResponse(path: '/jwks' | '/.well-known/openid-configuration', value: object | number): void;
  stop(): Promise<void>;
}

export async function startKeyServer(port = 0): Promise<KeyServer> {
  const responses = new Map<string, object | number>();
  const requested: string[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    requested.push(path);
    const value = responses.get(path) ?? 404;
    if (typeof value === 'number') response.writeHead(value).end();
    else response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  responses.set('/.well-known/openid-configuration', { issuer, jwks_uri: `${issuer}/jwks` });
  return {
    issuer,
    jwksUrl: `${issuer}/jwks`,
    requested,
    setResponse: (path, value) => void responses.set(path, value),
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
