import { useRoute } from 'vitepress';
import DefaultTheme from 'vitepress/theme-without-fonts';
import { onMounted, watch } from 'vue';
import { Playground } from './playground.mjs';
import './style.css';

export default {
  extends: DefaultTheme,
  enhanceApp: ({ app }) => app.component('Playground', Playground),
  setup() {
    const route = useRoute();
    /** The theme gives its home page and its 404 no main landmark. */
    const markMain = () => {
      const content = document.getElementById('VPContent');
      if (content?.querySelector('main')) content.removeAttribute('role');
      else content?.setAttribute('role', 'main');
    };
    onMounted(() => {
      markMain();
      watch(() => route.data, markMain, { flush: 'post' });
    });
  },
};
