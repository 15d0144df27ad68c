import { render } from 'preact';
import { App } from './app.tsx';
import { createPage } from './create-page.ts';
import { readEmbedded } from './embedded.ts';
import { PageProvider } from './page.ts';
import { keepAnnouncing } from './shell/announcing.ts';
import { keepAsking } from './shell/asking-again.ts';
import { keepDocument } from './shell/document.ts';
import { keepFresh } from './shell/keeping-fresh.ts';
import { watchRegionKeys } from './shell/regions.ts';
import { LanguageProvider } from './text/language-context.ts';
import './styles/tokens.css';
import './styles/base.css';

const root = document.querySelector('#page');
if (root) {
  const page = await createPage(readEmbedded());
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
    root,
  );
}
