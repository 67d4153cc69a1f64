import { withBase } from 'vitepress';
import { h, onBeforeUnmount, ref } from 'vue';

/** The playground as it is built for itself, in a frame as high as its content. */
export const Playground = {
  setup() {
    const height = ref(560);
    let watcher;
    const watch = ({ target }) => {
      const { body } = target.contentDocument;
      // The page around it has them already. Their style sheet overrides the attribute `hidden`.
      for (const it of body.querySelectorAll('header.top, .page-head')) it.style.display = 'none';
      watcher = new ResizeObserver(() => {
        height.value = body.scrollHeight;
      });
      watcher.observe(body);
    };
    onBeforeUnmount(() => watcher?.disconnect());
    return () =>
      h('iframe', {
        class: 'playground',
        title: 'Playground',
        src: withBase('/playground/index.html'),
        style: { height: `${height.value}px` },
        onLoad: watch,
      });
  },
};
