import { render } from 'preact';
import { App } from './app/app.tsx';
import { createPage } from './app/create-page.ts';
import { readEmbedded } from './platform/embedded.ts';
import { type Page, PageProvider } from './features/page.ts';
import { keepAnnouncing } from './app/announcing.ts';
import { keepAsking } from './app/asking-again.ts';
import { keepDocument } from './app/document.ts';
import { keepFresh } from './app/keeping-fresh.ts';
import { watchRegionKeys } from './app/regions.ts';
import { showStartFailure } from './start-failure.ts';
import { LanguageProvider } from './platform/text/language-context.ts';
import './ui/styles/tokens.css';
import './ui/styles/base.css';

const root = document.querySelector('#page');
if (root) {
  const page = await createPage(readEmbedded()).catch((error: unknown) => {
    showStartFailure(root);
    reportError(error);
  });
  if (page) start(page, root);
}

function start(page: Page, container: Element): void {
  keepDocument(page);
  keepAnnouncing(page);
  if (!page.account?.isShutOut) keepAsking(page.folder);
  keepFresh(page.folder);
  watchRegionKeys();
  render(
    <LanguageProvider value={page.language}>
      <PageProvider value={page}>
        <App />
      </PageProvider>
    </LanguageProvider>,
    container,
  );
}
