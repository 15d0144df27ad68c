import { render } from 'preact';
import { keepAnnouncing } from './app/announcing.ts';
import { App } from './app/app.tsx';
import { keepAsking } from './app/asking-again.ts';
import { createPage } from './app/create-page.ts';
import { keepDocument } from './app/document.ts';
import { keepFresh } from './app/keeping-fresh.ts';
import { Providers } from './app/providers.tsx';
import { readEmbedded } from './platform/embedded.ts';
import { showStartFailure } from './start-failure.ts';
import { watchRegionKeys } from './ui/regions.ts';
import './ui/styles/tokens.css';
import './ui/styles/base.css';

const root = document.querySelector('#page');
if (root) {
  const page = await createPage(readEmbedded()).catch((error: unknown) => {
    showStartFailure(root);
    throw error;
  });
  keepDocument(page);
  keepAnnouncing(page);
  if (!page.account?.isSignInPage) keepAsking(page.folder);
  keepFresh(page.folder);
  watchRegionKeys();
  render(
    <Providers page={page}>
      <App />
    </Providers>,
    root,
  );
}
