import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { openPage, type Visit } from './browser.ts';
import { button } from './elements.ts';
import { DESKTOP, PARTS_AND_TRASH } from './open-site.ts';
import { type Site, type SiteAccess, type SiteOptions, startSite } from './site.ts';

interface Credentials {
  readonly name: string;
  readonly password: string;
}

/** A user with all permissions. */
export const ANN = { name: 'ann', password: 'correct horse 🔋' } as const;
/** A user with the permissions that a test grants. */
export const BOB = { name: 'bob@example.org', password: '"> hunter2' } as const;
/** A user who can only read photos. */
export const EVE = { name: 'eve', password: 'only photos' } as const;

export const ALL = ['read', 'write', 'manage'] as const;
export const UNAUTHORIZED = /401 \(Unauthorized\)/;

/** Returns an access file that grants Ann everything, and other users what the test says. */
export const accessOf = (...grants: SiteAccess['grants']): SiteAccess => ({
  people: { [ANN.name]: ANN.password, [BOB.name]: BOB.password, [EVE.name]: EVE.password },
  grants: [{ folder: '/', to: { person: ANN.name }, rights: ALL }, ...grants],
});

/** Returns the names in a folder on the disk of a site, in order. */
export const storedNames = async ({ root = '' }: Site, folder: string) =>
  (await readdir(join(root, folder))).toSorted();

/** The access file of most tests, which share a service. */
export const ACCESS = accessOf({ folder: '/photos/', to: { person: EVE.name }, rights: ['read'] });

const FILES = { 'photos/cat.txt': 'meow', 'photos/dog.txt': 'woof', 'photos/2026/': '' };

/** Opens a page of a site without signing in. `path` is relative to the root of the site. */
export async function visit(
  t: TestContext,
  path: string,
  {
    access = ACCESS,
    files = FILES,
    settings = PARTS_AND_TRASH,
    isOwn = false,
    ...more
  }: Partial<Visit & SiteOptions> = {},
): Promise<{ site: Site; page: Page }> {
  const site = await startSite(t, { store: 'disk', files, access, isOwn, settings });
  const page = await openPage(t, {
    ...DESKTOP,
    expectedErrors: [UNAUTHORIZED],
    ...more,
    url: `${site.url}${path}`,
  });
  return { site, page };
}

export const signInHeading = (page: Page) => page.getByRole('heading', { level: 1, name: 'Sign in' });
export const signInDialog = (page: Page) => page.getByRole('dialog', { name: 'Sign in' });
export const accountButton = (page: Page, { name }: Pick<Credentials, 'name'> = ANN) =>
  page.getByRole('button', { name: new RegExp(`Signed in as .*${name}`) });

export async function fillSignInForm(page: Page, { name, password }: Partial<Credentials>): Promise<void> {
  if (name !== undefined) await page.getByLabel('Username', { exact: true }).fill(name);
  if (password !== undefined) await page.getByLabel('Password').fill(password);
}

/** Signs in on the sign-in page. */
export async function signIn(page: Page, user: Credentials = ANN): Promise<void> {
  await signInHeading(page).waitFor();
  await fillSignInForm(page, user);
  await button(page, 'Sign in').click();
  await accountButton(page, user).waitFor();
}

export async function signOut(page: Page): Promise<void> {
  await accountButton(page).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
}

/** Fails if a script can find the password in the page, its URL or its storage, or can read any cookie. */
export async function assertForgotten(page: Page, password: string): Promise<void> {
  const readable = await page.evaluate(() => ({
    html: document.documentElement.outerHTML,
    fields: [...document.querySelectorAll('input')].map(({ value }) => value),
    url: window.location.href,
    state: JSON.stringify(history.state),
    storage: [localStorage, sessionStorage].flatMap((storage) => Object.entries(storage).flat()).join(),
    cookies: document.cookie,
  }));
  for (const [place, text] of Object.entries(readable)) {
    assert.ok(!String(text).includes(password), `The password is in the ${place}.`);
    assert.ok(!String(text).includes(encodeURIComponent(password)), `The password is in the ${place}.`);
  }
  assert.equal(readable.cookies, '', 'A script can read the session.');
}
