import ar from '../platform/text/catalogues/ar.json?offline';
import de from '../platform/text/catalogues/de.json?offline';
import en from '../platform/text/catalogues/en.json?offline';
import es from '../platform/text/catalogues/es.json?offline';
import fr from '../platform/text/catalogues/fr.json?offline';
import ja from '../platform/text/catalogues/ja.json?offline';
import zhHans from '../platform/text/catalogues/zh-Hans.json?offline';
import type { Catalogue } from '../platform/text/messages.ts';
import { chooseLanguage, LANGUAGES, type LanguageTag, storedLanguage } from '../platform/text/supported-languages.ts';
import type { OfflineText } from '../platform/text/text.ts';
import './offline.css';

/*
 * The page that the service worker shows for a folder without a connection. It reloads the folder as soon as the service
 * responds.
 */

const CATALOGUES: Readonly<Record<LanguageTag, Catalogue>> = { en, de, es, fr, ja, 'zh-Hans': zhHans, ar };

/** Milliseconds between two attempts: more after each one. */
const FIRST_DELAY_MS = 2_000;
const MAX_DELAY_MS = 30_000;
const TIMEOUT_MS = 10_000;

/** The statuses with which a reverse proxy responds instead of the service. */
const PROXY_FAILURES: ReadonlySet<number> = new Set([502, 503, 504]);

const HEALTH = new URL(/* @vite-ignore */ '../health/live', import.meta.url);

const { tag } = chooseLanguage(storedLanguage(), navigator.languages);
// `npm run check:messages` proves that each catalogue has these messages.
const { offline: text } = CATALOGUES[tag] as unknown as OfflineText;
document.documentElement.lang = tag;
document.documentElement.dir = LANGUAGES[tag].direction;

const title = document.createElement('h1');
const hint = document.createElement('p');
const status = document.createElement('p');
status.className = 'status';
status.setAttribute('role', 'status');
const button = document.createElement('button');
button.type = 'button';
button.className = 'button';
button.textContent = text.retry;
button.addEventListener('click', () => void retry());
document.querySelector('#page')?.append(createPage());
describe();

let delay = FIRST_DELAY_MS;
let timer = setTimeout(attempt, delay);
let isAsking = false;
for (const type of ['online', 'offline']) window.addEventListener(type, attempt);
document.addEventListener('visibilitychange', attempt);
window.addEventListener('pageshow', ({ persisted }) => persisted && attempt());

function createPage(): HTMLElement {
  const main = document.createElement('main');
  main.className = 'offline-page';
  const icon = document.createElement('img');
  // The icon of the tab. Importing it would also load the modules of the page that use it.
  icon.src = document.querySelector<HTMLLinkElement>('link[rel="icon"]')?.href ?? '';
  icon.alt = 'Holdall';
  main.append(icon, title, hint, button, status);
  return main;
}

/** Shows whether the device or the service is the reason. */
function describe(): void {
  const isOnline = navigator.onLine;
  title.textContent = isOnline ? text.unreachable : text.title;
  hint.textContent = isOnline ? text.unreachableHint : text.hint;
  document.title = `${title.textContent} – Holdall`;
}

/** Tries again now, and later until the service responds. Does nothing while the page is hidden. */
function attempt(): void {
  describe();
  clearTimeout(timer);
  if (document.hidden) return;
  void reloadIfReachable();
  delay = Math.min(delay * 1.5, MAX_DELAY_MS);
  timer = setTimeout(attempt, delay);
}

async function retry(): Promise<void> {
  status.textContent = text.connecting;
  await reloadIfReachable();
  describe();
  status.textContent = text.failed;
}

async function reloadIfReachable(): Promise<void> {
  if (isAsking) return;
  isAsking = true;
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    // A proxy can redirect to its sign-in page, which only a navigation can follow.
    const response = await fetch(HEALTH, { cache: 'no-store', redirect: 'manual', signal });
    if (!PROXY_FAILURES.has(response.status)) window.location.reload();
  } catch {
    // The service is still unreachable.
  } finally {
    isAsking = false;
  }
}
