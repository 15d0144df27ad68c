import assert from 'node:assert/strict';
import type { ProviderSettings } from '../../../src/http/access/provider.ts';
import { findFreePort } from '../../../testing/servers/free-port.ts';
import {
  type IdentityProvider,
  type IdentityProviderOptions,
  startIdentityProvider,
} from '../../../testing/servers/identity-provider.ts';
import { type Browser, createBrowser } from './browser.ts';
import { type SignedInOptions, type SignedInService, startSignedInService } from './signed-in-service.ts';

/** The claims that the provider returns for a user. */
export const ANN = {
  email: 'ann@example.org',
  email_verified: true,
  preferred_username: 'ann',
  groups: ['family', 'ops'],
};

/** A service and its provider. The port of the service is chosen before the provider starts. */
export interface Pair {
  readonly service: SignedInService;
  readonly provider: IdentityProvider;
  readonly publicUrl: string;
  stop(): Promise<void>;
}

export async function startPair({
  provider: providerOptions = {},
  settings = {},
  ...options
}: {
  provider?: Partial<IdentityProviderOptions>;
  settings?: Partial<ProviderSettings>;
} & Omit<SignedInOptions, 'provider'> = {}): Promise<Pair> {
  const port = await findFreePort();
  const publicUrl = `http://127.0.0.1:${port}${options.basePath ?? ''}`;
  const provider = await startIdentityProvider({ redirectUri: `${publicUrl}/-/sign-in/callback`, ...providerOptions });
  provider.user = { claims: ANN };
  const starting = startSignedInService({
    ...options,
    port,
    publicUrl,
    provider: {
      issuer: provider.issuer,
      ...provider.client,
      scope: 'openid email profile',
      nameClaim: 'email',
      groupsClaim: 'groups',
      ...settings,
    },
  });
  // A provider that keeps running would keep the test process running.
  starting.catch(() => provider.stop());
  const service = await starting;
  return {
    service,
    provider,
    publicUrl,
    async stop() {
      await service.stop();
      await provider.stop();
    },
  };
}

/** Signs in at the provider, and returns the callback URL without requesting it. */
export async function untilCallback({ publicUrl }: Pair, browser: Browser = createBrowser()): Promise<URL> {
  let url = new URL(`${publicUrl}/-/sign-in`);
  while (url.pathname !== '/-/sign-in/callback') {
    const response = await browser.send(Number(url.port), url.pathname + url.search, { headers: { host: url.host } });
    url = new URL(response.headers.location ?? assert.fail(`${url.href}: ${response.body.toString()}`), url);
  }
  return url;
}
