// First: the order of all layers is in the first style sheet.
import './ui/styles/tokens.css';
import './ui/styles/base.css';
import { render } from 'preact';
import { App } from './app/app.tsx';
import { createPage, type Page } from './app/create-page.ts';
import { syncDocument } from './app/document.ts';
import { syncFolder } from './app/folder-sync.ts';
import { readEmbedded } from './platform/embedded.ts';
import { watchInstallPrompt } from './platform/install-prompt.ts';
import { watchRegionKeys } from './ui/focus.ts';
import { whenPicturesLoaded } from './ui/when-idle.ts';

const root = document.querySelector('#page');
if (root) {
  const page = await createPage(readEmbedded()).catch((error: unknown) => {
    showStartFailure(root);
    reportError(error);
  });
  if (page) start(page, root);
}

function start(page: Page, container: Element): void {
  syncDocument(page);
  syncFolder(page);
  watchRegionKeys();
  render(<App page={page} />, container);
  startWebApp(page);
}

/** Starts what only the installable page has, once the browser is idle. Share links have no manifest. */
function startWebApp(page: Page): void {
  watchInstallPrompt();
  const manifest = document.querySelector<HTMLLinkElement>('link[rel="manifest"]');
  if (manifest)
    whenPicturesLoaded(
      () => void import('./app/web-app.ts').then((app) => app.startWebApp(page, manifest.href)).catch(() => {}),
    );
}

/** Shows that the page could not start. In English, because it is shown if the texts of no language could be loaded. */
function showStartFailure(container: Element): void {
  const message = document.createElement('p');
  message.setAttribute('role', 'alert');
  message.textContent = 'Couldn’t load this page. Check your connection, then reload.';
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Reload';
  button.addEventListener('click', () => window.location.reload());
  container.replaceChildren(message, button);
}
