import { ask } from './ask.ts';
import type { Urls } from './urls.ts';

/** Milliseconds that signing in or out may take. */
const PATIENCE = 30_000;

/** Who is signed in; null for nobody. Throws a `ServiceError`, as the others. */
export async function whoIsSignedIn(urls: Urls): Promise<string | null> {
  const { name } = await ask<{ name: string | null }>(urls.endpoint('-/session'), { patience: PATIENCE });
  return name;
}

/** Gives the name of who is signed in then. Throws `wrong-password` for a wrong name or password. */
export async function signIn(urls: Urls, body: { name: string; password: string }): Promise<string> {
  const { name } = await ask<{ name: string }>(urls.endpoint('-/session'), {
    method: 'POST',
    body,
    patience: PATIENCE,
  });
  return name;
}

/** Ends the session, everywhere that it is used. */
export async function signOut(urls: Urls): Promise<void> {
  await ask(urls.endpoint('-/session'), { method: 'DELETE', patience: PATIENCE });
}
