import type { ComponentType } from 'preact';
import { useEffect, useReducer } from 'preact/hooks';
import { usePage } from '../features/page.ts';
import type { OpenMenu } from './menus.ts';
import { tellNotLoaded } from '../model/not-loaded.ts';
import { whenIdle } from './when-idle.ts';

let Menu: ComponentType<{ menu: OpenMenu }> | undefined;

async function load(): Promise<void> {
  Menu ??= (await import('./menu.tsx')).Menu;
}

/** The open menu. Its code loads when the browser is idle, or when the first menu opens. */
export function OpenedMenu() {
  const page = usePage();
  const menu = page.menus.shown.value;
  const [, redraw] = useReducer<number, void>((drawn) => drawn + 1, 0);

  useEffect(() => whenIdle(() => void load().catch(() => {})), []);
  useEffect(() => {
    if (!menu || Menu) return;
    load().then(redraw, () => {
      page.menus.close();
      return tellNotLoaded(page);
    });
  }, [menu]);
  return menu && Menu ? <Menu menu={menu} /> : null;
}
