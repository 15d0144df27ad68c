import type { ComponentType } from 'preact';
import { useEffect, useReducer } from 'preact/hooks';
import { type OpenMenu, useMenus } from './menus.ts';
import { whenIdle } from './when-idle.ts';

let Menu: ComponentType<{ menu: OpenMenu }> | undefined;

async function load(): Promise<void> {
  Menu ??= (await import('./menu.tsx')).Menu;
}

/**
 * The open menu. Its code loads when the browser is idle, or when the first menu opens. Calls `onNotLoaded` if that
 * fails.
 */
export function OpenedMenu({ onNotLoaded }: { onNotLoaded: () => void }) {
  const menus = useMenus();
  const menu = menus.shown.value;
  const [, redraw] = useReducer<number, void>((drawn) => drawn + 1, 0);

  useEffect(() => whenIdle(() => void load().catch(() => {})), []);
  useEffect(() => {
    if (!menu || Menu) return;
    load().then(redraw, () => {
      menus.close();
      onNotLoaded();
    });
  }, [menu]);
  return menu && Menu ? <Menu menu={menu} /> : null;
}
