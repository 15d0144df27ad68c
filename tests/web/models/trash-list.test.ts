import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTrashList } from '../../../web/src/model/trash/trash-list.ts';
import type { Service } from '../../../web/src/platform/service/service.ts';
import { settle } from './change-scene.ts';
import { refusal } from './service-errors.ts';
import { createTrashService } from './trash-service.ts';

/** A list of a trash with five files, the newest first, in pages of two. */
async function createListScene(override: (service: Service) => Partial<Service> = () => ({})) {
  const names = ['a', 'b', 'c', 'd', 'e'];
  const { service } = createTrashService(Object.fromEntries(names.map((name) => [name, name])));
  for (const name of names) await service.remove(name);
  const list = createTrashList({ ...service, ...override(service) });
  const idOf = (path: string) => list.items.value.find((item) => item.path === path)?.id ?? assert.fail(path);
  return {
    list,
    service,
    idOf,
    paths: () => list.items.value.map(({ path }) => path),
    selected: () => list.selectedItems.value.map(({ path }) => path),
  };
}

describe('The list of the trash', () => {
  it('loads page by page, and reads as many items again as it had', async () => {
    const { list, paths, service } = await createListScene();
    assert.equal(list.state.value, 'loading');
    await list.refresh();
    assert.deepEqual([list.state.value, paths(), list.isComplete.value], ['ready', ['e', 'd'], false]);
    await Promise.all([list.loadMore(), list.loadMore()]);
    assert.deepEqual(paths(), ['e', 'd', 'c', 'b'], 'Two calls at once read one page.');
    await service.send('-/trash/5', { method: 'DELETE' });
    await list.refresh();
    assert.deepEqual(paths(), ['d', 'c', 'b', 'a']);
    assert.equal(list.isComplete.value, true);
    await list.loadMore();
    assert.equal(paths().length, 4);
  });

  it('fails with its problem, loads when it is tried again, and keeps its items when a later request fails', async () => {
    let isDown = true;
    const { list, paths } = await createListScene(({ send }) => ({
      send: (...args) => (isDown ? Promise.reject(refusal('unavailable', 'Down.')) : send(...args)),
    }));
    await list.refresh();
    assert.deepEqual([list.state.value, list.problem.value?.code], ['failed', 'unavailable']);
    isDown = false;
    await list.refresh();
    assert.deepEqual([list.state.value, list.problem.value], ['ready', null]);
    isDown = true;
    await list.loadMore();
    assert.deepEqual([list.state.value, list.problem.value?.code, paths()], ['ready', 'unavailable', ['e', 'd']]);
  });

  it('hides items while they are removed, and shows those again that remain', async () => {
    const { list, paths, idOf, selected } = await createListScene();
    await list.refresh();
    await list.loadMore();
    list.selectOnly(idOf('e'));
    list.extendTo(idOf('c'));
    const { promise, resolve } = Promise.withResolvers<void>();
    const [first, ...others] = list.selectedItems.value;
    const removal = list.remove([...list.selectedItems.value], async () => {
      await promise;
      return others;
    });
    assert.deepEqual([paths(), selected()], [['b'], []]);
    resolve();
    await removal;
    assert.ok(first);
    assert.ok(paths().includes(first.path));
  });

  it('ignores a response that arrives after the list has ended', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { list } = await createListScene(({ send }) => ({
      send: async (...args) => {
        await promise;
        return send(...args);
      },
    }));
    const reading = list.refresh();
    list.end();
    resolve();
    await reading;
    await settle();
    assert.deepEqual([list.state.value, list.items.value], ['loading', []]);
  });

  it('selects one, several and all items, and ranges from the last selected one', async () => {
    const { list, idOf, selected } = await createListScene();
    await list.refresh();
    await list.loadMore();
    list.selectOnly(idOf('d'));
    list.toggle(idOf('b'));
    assert.deepEqual(selected(), ['d', 'b']);
    list.extendTo(idOf('d'));
    assert.deepEqual(selected(), ['d', 'c', 'b']);
    list.toggle(idOf('c'));
    assert.deepEqual(selected(), ['d', 'b']);
    list.selectAll();
    assert.deepEqual(selected(), ['e', 'd', 'c', 'b']);
    list.clearSelection();
    assert.deepEqual(selected(), []);
  });
});
