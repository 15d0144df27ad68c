import type { ComponentChildren } from 'preact';
import { ActionsProvider } from '../features/actions/actions.ts';
import { DraggingProvider } from '../features/dragging/dragging.ts';
import {
  AccountProvider,
  ChangesProvider,
  ClipboardProvider,
  DetailsProvider,
  FolderProvider,
  MessagesProvider,
  PermissionsProvider,
  PreferencesProvider,
  RouterProvider,
  SelectionProvider,
  ServiceProvider,
  UploadsProvider,
  UrlsProvider,
} from '../features/models.ts';
import type { Provider } from '../platform/required-context.ts';
import { LanguageProvider } from '../platform/text/language-context.ts';
import { DialogsProvider } from '../ui/dialog.tsx';
import { MenusProvider } from '../ui/menus.tsx';
import type { Page } from './page.ts';

/** Provides each model of the page in its own context. */
export function Providers({ page, children }: { page: Page; children: ComponentChildren }) {
  return providersOf(page).reduceRight((content, provide) => provide(content), <>{children}</>);
}

function providersOf(page: Page) {
  return [
    provider(AccountProvider, page.account),
    provider(ActionsProvider, page.actions),
    provider(ChangesProvider, page.changes),
    provider(ClipboardProvider, page.clipboard),
    provider(DetailsProvider, page.details),
    provider(DialogsProvider, page.dialogs),
    provider(DraggingProvider, page.dragging),
    provider(FolderProvider, page.folder),
    provider(LanguageProvider, page.language),
    provider(MenusProvider, page.menus),
    provider(MessagesProvider, page.messages),
    provider(PermissionsProvider, page.permissions),
    provider(PreferencesProvider, page.preferences),
    provider(RouterProvider, page.router),
    provider(SelectionProvider, page.selection),
    provider(ServiceProvider, page.service),
    provider(UploadsProvider, page.uploads),
    provider(UrlsProvider, page.urls),
  ];
}

/** Returns a function that wraps content in a provider. */
function provider<Value>(Provide: Provider<Value>, value: Value) {
  return (content: ComponentChildren) => <Provide value={value}>{content}</Provide>;
}
